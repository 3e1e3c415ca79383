package tracecheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// idLength is that of a client's ID, a UUID.
const idLength = 36

// A reader makes an entry of a run. The arguments' places are those of the script's header.
var readers = map[string]func(*Run, *Entry, *argReader){
	"acquire":  readAcquire,
	"count":    readCount,
	"release":  readRelease,
	"transfer": readTransfer,
	"leave":    readLeave,
	"force":    readForce,
}

// ignored are scripts that only read.
var ignored = []string{"inspect", "report"}

// argReader reads arguments, and keeps the first error.
type argReader struct {
	run *Run
	err error
}

// text is ARGV[i], counted from 1 as in Lua.
func (a *argReader) text(i int) string {
	if i > len(a.run.Args) {
		a.err = fmt.Errorf("%s: no ARGV[%d]", a.run.Kind, i)
		return ""
	}
	return a.run.Args[i-1]
}

func (a *argReader) number(i int) int64 {
	n, err := strconv.ParseInt(a.text(i), 10, 64)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s: ARGV[%d]: %w", a.run.Kind, i, err)
	}
	return n
}

func (a *argReader) millis(i int) int64 { return a.number(i) * 1000 }

// clientOf is the client of a field.
func clientOf(field string) string { return field[:min(idLength, len(field))] }

// read makes the entry of a run for one lock. There is none if the run is not about that lock.
func read(r *Run, lock string) (*Entry, error) {
	switch {
	case r.Kind == "renew":
		return readRenew(r, lock)
	case len(r.Keys) == 0 || r.Keys[0] != lock || slices.Contains(ignored, r.Kind):
		return nil, nil
	}
	reader := readers[r.Kind]
	if reader == nil {
		return nil, fmt.Errorf("script %q", r.Kind)
	}
	e := &Entry{At: r.At, Since: r.Since, Kind: r.Kind, Outcome: void, Run: r}
	args := &argReader{run: r}
	reader(r, e, args)
	if args.err == nil && e.Epoch && e.Outcome != void && !r.called("SET", r.Keys[1]) {
		args.err = fmt.Errorf("%s: Redis refused the epoch", r.Kind)
	}
	return e, args.err
}

func readAcquire(r *Run, e *Entry, a *argReader) {
	lock, turn := r.Keys[0], r.Keys[2]
	e.Owner, e.Lease, e.Number, e.Epoch = a.text(1), a.millis(2), a.number(3), a.number(4) > 0
	e.Client = clientOf(e.Owner)
	if len(r.Keys) > 3 {
		readRegistration(r, e, a)
	}
	e.Stood = r.called("HKEYS", lock)
	e.Turn = readTurn(r, turn)
	switch {
	case r.called("HSET", lock):
		e.Outcome = granted
	case r.called("PTTL", turn):
		e.Outcome = kept
	case len(r.Keys) > 3 && r.called("ZADD", r.Keys[3]):
		e.Outcome = busy
	}
}

// readRegistration reads what an acquire says only if the client registers, was registered, or names other owners.
func readRegistration(r *Run, e *Entry, a *argReader) {
	e.Asks, e.Theirs, e.Nonce = a.number(6) > 0, a.text(8) == "1", a.text(9)
	if e.Nonce != "" {
		e.Claim = a.millis(10)
	}
	e.Owners = r.Args[min(10, len(r.Args)):]
}

func readCount(r *Run, e *Entry, a *argReader) {
	e.Owner, e.Lease, e.Number, e.Epoch = a.text(1), a.millis(3), a.number(4), a.number(5) > 0
	e.Client = clientOf(e.Owner)
	if r.called("HSET", r.Keys[0]) {
		e.Outcome = set
	}
}

func readRelease(r *Run, e *Entry, a *argReader) {
	lock := r.Keys[0]
	e.Owner, e.Number, e.Epoch = a.text(1), a.number(2), a.number(3) > 0
	e.Client = clientOf(e.Owner)
	switch {
	case r.called("EXISTS", lock):
		e.Outcome = freed
		e.Passed = readPassing(r, lock, r.Keys[2], r.Keys[4], a.text(4))
		e.Turn = readTurn(r, r.Keys[2])
	case r.called("HDEL", lock):
		e.Outcome = absent
	}
}

func readTransfer(r *Run, e *Entry, a *argReader) {
	lock := r.Keys[0]
	e.Owner, e.Next, e.Lease, e.Number, e.Epoch = a.text(1), a.text(2), a.millis(3), a.number(4), a.number(5) > 0
	e.Client = clientOf(e.Owner)
	switch {
	case r.called("HSET", lock):
		e.Outcome = moved
	case r.called("ZCARD", r.Keys[2]):
		e.Outcome = there
	}
}

func readLeave(r *Run, e *Entry, a *argReader) {
	e.Client, e.Number, e.Epoch = a.text(1), a.number(2), a.number(3) > 0
	e.Owners = r.Args[min(5, len(r.Args)):]
	if !r.called("ZREM", r.Keys[3]) {
		return
	}
	e.Outcome = done
	e.Turn = readTurn(r, r.Keys[2])
	if r.called("ZPOPMIN", r.Keys[3]) {
		e.Passed = readPassing(r, r.Keys[0], r.Keys[2], r.Keys[4], a.text(4))
	}
}

func readForce(r *Run, e *Entry, a *argReader) {
	if !r.called("DEL", r.Keys[0]) {
		return
	}
	e.Outcome = freed
	e.Passed = readPassing(r, r.Keys[0], r.Keys[1], r.Keys[3], a.text(1))
	e.Turn = readTurn(r, r.Keys[1])
}

// readRenew looks for the lock among those of a renewal.
func readRenew(r *Run, lock string) (*Entry, error) {
	i := slices.Index(r.Keys, lock)
	if i < 0 {
		return nil, nil
	}
	a := &argReader{run: r}
	e := &Entry{At: r.At, Since: r.Since, Kind: r.Kind, Run: r, Outcome: lost, Lease: a.millis(1), Owner: a.text(2 * (i + 1)), Next: a.text(2*(i+1) + 1)}
	e.Client = clientOf(e.Owner)
	if r.called("PTTL", lock) {
		e.Outcome = held
	}
	return e, a.err
}

// readTurn returns what the last command that wrote the turn has left.
func readTurn(r *Run, key string) (turn *Turn) {
	for _, call := range r.Calls {
		switch {
		case len(call) < 2 || call[1] != key:
		case call[0] == "DEL":
			turn = &Turn{}
		case call[0] == "SET" && len(call) == 5:
			ms, _ := strconv.ParseInt(call[4], 10, 64)
			turn = &Turn{Client: call[2], For: ms * 1000}
		}
	}
	return turn
}

// readPassing follows lua/wake.lua. The client that ZPOPMIN has answered is named by the commands after it.
func readPassing(r *Run, lock, turn, grants, channel string) *Passing {
	p := &Passing{}
	popped := func(client string) {
		if client != "*" && !slices.Contains(p.Popped, client) {
			p.Popped = append(p.Popped, client)
		}
	}
	for _, call := range r.Calls {
		switch {
		case len(call) > 2 && call[0] == "HGET" && call[1] == grants:
			popped(call[2])
		case len(call) > 2 && call[0] == "SET" && call[1] == turn:
			popped(call[2])
		case len(call) > 2 && (call[0] == "PUBLISH" || call[0] == "SPUBLISH") && strings.HasPrefix(call[1], channel+":"):
			popped(call[1][len(channel)+1:])
			if call[2] != "0" {
				p.Nonce, _, _ = strings.Cut(call[2], " ")
			}
		case len(call) > 2 && call[0] == "HSET" && call[1] == lock:
			p.Owner, p.To = call[2], clientOf(call[2])
		case len(call) > 2 && call[0] == "HDEL" && call[1] == lock && call[2] == p.Owner:
			p.Owner, p.To, p.Nonce = "", "", ""
		}
	}
	return p
}

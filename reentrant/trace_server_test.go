package reentrant_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// traceServer stands before the miniredis of a scene: it notes what Clients send, and does wrong
// what the scene wants. It runs a Client's scripts itself, on a connection of its own, and so
// knows the answer before the Client does.
type traceServer struct {
	s    *scene
	shas map[string]string // name of a script, by its SHA

	mu     sync.Mutex
	faults []*fault
	last   map[string]int // the highest number that a Client has sent
}

// fault is what happens to some of the commands.
type fault struct {
	client  string                               // whose; "": everybody's
	command string                               // a script, or another command; "": all
	times   int                                  // how often; 0: until the scene is healed
	refusal string                               // the answer, instead of running it
	what    func(p *server.Peer, run func() any) // otherwise
}

// latency is how long a Client's commands are under way, and again the answers. They differ, so that
// no two Clients' commands arrive at one instant.
var latency = map[string]time.Duration{"A": time.Millisecond, "B": 1300 * time.Microsecond, "C": 1700 * time.Microsecond}

// housekeeping is what go-redis sends for its connections.
var housekeeping = []string{"HELLO", "CLIENT", "PING", "AUTH", "SELECT"}

func (ts *traceServer) load(t *testing.T) {
	ts.shas, ts.last = make(map[string]string), make(map[string]int)
	for name, source := range scriptSources(t) {
		must(t, ts.s.rdb[0].ScriptLoad(ts.s.ctx, source).Err())
		ts.shas[sha(source)] = name
	}
	ts.s.mini.Server().SetPreHook(ts.hook)
}

// fault makes trouble from now on.
func (ts *traceServer) fault(f fault) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.faults = append(ts.faults, &f)
}

// heal ends all trouble.
func (ts *traceServer) heal() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.faults = nil
}

// trouble is the fault of a command, nil if it has none.
func (ts *traceServer) trouble(client, command string) *fault {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for i, f := range ts.faults {
		if f.client != "" && f.client != client || f.command != "" && f.command != command {
			continue
		}
		if f.times > 0 {
			if f.times--; f.times == 0 {
				ts.faults = slices.Delete(ts.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}

func (ts *traceServer) hook(p *server.Peer, cmd string, args ...string) (done bool) {
	client := p.ClientName
	switch {
	case client == "" && cmd == "PUBLISH":
		ts.s.note("Redis", fmt.Sprintf("publishes %s to %s", message(args[1]), ts.s.channel(args[0])))
		return false
	case client == "" || slices.Contains(housekeeping, cmd):
		return false
	}
	time.Sleep(latency[client])
	sent := ts.read(client, cmd, args)
	f := ts.trouble(client, sent.command)
	if f == nil && sent.script == nil {
		ts.s.note(client, sent.text)
		return false
	}
	ts.run(p, client, sent, f)
	return true
}

// sent is a command of a Client, in words.
type sent struct {
	command string // a script's name, or the command's
	text    string
	script  *scriptCall // nil if it is none
	line    []any
}

func (ts *traceServer) read(client, cmd string, args []string) sent {
	c := sent{command: cmd, line: line(cmd, args)}
	switch cmd {
	case "EVALSHA":
		c.script = ts.script(args)
		c.command, c.text = c.script.name, c.script.String()+ts.older(client, c.script)
	case "SUBSCRIBE", "UNSUBSCRIBE":
		channels := make([]string, len(args))
		for i, channel := range args {
			channels[i] = ts.s.channel(channel)
		}
		if ts.s.isLoose() {
			// After a break go-redis may subscribe by itself first, in the order of a map.
			slices.Sort(channels)
		}
		c.text = cmd + " " + strings.Join(channels, ", ")
	default:
		c.text = cmd + " " + ts.s.words.plain(strings.Join(args, " "))
	}
	return c
}

// run executes a command, unless there is trouble, notes the answer and sends it.
func (ts *traceServer) run(p *server.Peer, client string, c sent, f *fault) {
	answer := func(to string) { ts.s.note(client, c.text+" → "+to) }
	run := func() any {
		reply, err := ts.s.rdb[0].Do(ts.s.ctx, c.line...).Result()
		if err != nil {
			reply = err
		}
		answer(ts.said(c.script, reply))
		return reply
	}
	switch {
	case f == nil:
		reply := run()
		time.Sleep(latency[client])
		write(p, reply)
	case f.refusal != "":
		answer(f.refusal)
		time.Sleep(latency[client])
		p.WriteError(f.refusal)
	default:
		f.what(p, run)
	}
}

func (ts *traceServer) script(args []string) *scriptCall {
	keys := 0
	fmt.Sscan(args[1], &keys)
	c := &scriptCall{name: ts.shas[args[0]]}
	for _, arg := range args[2+keys:] {
		c.argv = append(c.argv, ts.s.words.plain(arg))
	}
	return c
}

// older says so if a command comes after one with a higher number.
func (ts *traceServer) older(client string, c *scriptCall) string {
	at, _ := c.ordering()
	if at < 0 {
		return ""
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	number := 0
	fmt.Sscan(c.argv[at], &number)
	if number <= ts.last[client] {
		return ", with a number that is not new"
	}
	ts.last[client] = number
	return ""
}

func (ts *traceServer) said(c *scriptCall, reply any) string {
	if err, failed := reply.(error); failed {
		return ts.s.words.plain(err.Error())
	}
	if c == nil {
		return fmt.Sprint(reply)
	}
	return c.answer(&ts.s.words, reply)
}

func line(cmd string, args []string) []any {
	line := []any{cmd}
	for _, arg := range args {
		line = append(line, arg)
	}
	return line
}

// write answers as Redis has answered.
func write(p *server.Peer, reply any) {
	switch r := reply.(type) {
	case error:
		p.WriteError(r.Error())
	case int64:
		p.WriteInt(int(r))
	case string:
		p.WriteBulk(r)
	case []any:
		p.WriteLen(len(r))
		for _, one := range r {
			write(p, one)
		}
	default:
		p.WriteNull()
	}
}

// channel names a channel of the lock job.
func (s *scene) channel(channel string) string {
	plain := s.words.plain(channel)
	switch {
	case strings.HasPrefix(plain, "redlatch_listeners:"):
		return "the listeners' channel"
	case plain == "redisson_lock__channel:{job}", plain == "redisson_rwlock:{job}":
		return "the common channel"
	}
	_, client, _ := strings.Cut(plain, ":{job}:")
	return client + "'s channel"
}

// loseReply has a command executed, and its answer lost with the connection.
func loseReply(s *scene) func(p *server.Peer, run func() any) {
	return func(p *server.Peer, run func() any) {
		run()
		s.note("Redis", "the connection breaks, and the answer is lost")
		p.Close()
	}
}

// late has a command executed so much later, as if it had been kept in a buffer.
func late(d time.Duration) func(p *server.Peer, run func() any) {
	return func(p *server.Peer, run func() any) {
		time.Sleep(d)
		write(p, run())
	}
}

// left notes what is in Redis at the end.
func (s *scene) left() {
	s.next()
	synctest.Wait()
	keys := s.mini.Keys()
	for i, key := range keys {
		what := ""
		switch value, err := s.mini.Get(key); {
		case key == "job" && err != nil:
			what = ""
			for field, count := range s.fields(key) {
				what += " " + s.words.plain(field) + "=" + count
			}
		case strings.HasPrefix(key, "redlatch_turn"):
			what = " " + s.words.plain(value)
		}
		if ttl := s.ttl(key); ttl > 0 {
			what += ", for " + ttl.String()
		}
		keys[i] = s.words.plain(key) + what
	}
	if len(keys) == 0 {
		keys = []string{"nothing"}
	}
	s.note("Redis", "has "+strings.Join(keys, "; ")+" in the end")
}

// redis sends a command that is no Client's.
func (s *scene) redis(args ...any) {
	s.next()
	must(s.t, s.rdb[0].Do(s.ctx, args...).Err())
	synctest.Wait()
	s.next()
}

// message is a payload in words: the nonce of an attempt is another one in each run.
func message(payload string) string {
	if nonce, _, _ := strings.Cut(payload, " "); len(nonce) == len("AUPVZD52IACM4IMVRWMMSESKJ4") {
		return "the attempt's nonce"
	}
	return strconv.Quote(payload)
}

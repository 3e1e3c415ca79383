package lua

import (
	"context"
	"strconv"
	"time"
)

// Report is all that Redis knows of a lock.
type Report struct {
	TTL             time.Duration // left; NoTTL when the key never expires; 0 when free
	Token           int64         // last that was issued; 0 if there was none or the counter was not read
	RedissonWaiters int           // clients of Redisson that wait; -1 if they cannot be counted
	Fields          []Field       // the hash; none when free
	Waiting         []Waiting     // registered clients, in the order of their arrival

	// Of a read-write lock:
	Mode    string    // read or write; empty when free
	Reading []Waiting // registered clients that wait to read; Waiting has those that wait to write
	Line    []Place   // of a fair lock: who waits, the first to come first
}

// Field is one field of the hash.
type Field struct {
	Owner string
	Count int
}

// Waiting is a client that waits.
type Waiting struct {
	Client string
	For    time.Duration // since its arrival, by Redis' clock
}

// Place is a place in the line of a fair lock.
type Place struct {
	Owner   string
	Arrival time.Time // by the clock of the owner's machine; zero of a thread of Redisson
}

// ReadReport reads the lock from the master. With fencing it also reads the counter, for which the
// user needs a right.
func ReadReport(ctx context.Context, p Processor, k *Keys, w Wake, fencing bool) (Report, error) {
	keys := []string{k.Lock, k.Waiters()}
	if fencing {
		keys = append(keys, k.Token())
	}
	reply, err := reportScript.run(ctx, p, keys, k.Channel(), w.how)
	if err != nil {
		return Report{}, err
	}
	return reportOf(reply), nil
}

// reportOf reads what the reports of all kinds of locks have in common.
func reportOf(reply []any) Report {
	r := Report{RedissonWaiters: int(number(reply, 3))}
	r.Token, _ = strconv.ParseInt(text(reply, 2), 10, 64) // another program's key may hold anything
	if left := number(reply, 0); left != -2 {
		r.TTL = ttl(left)
	}
	for owner, count := range pairs(reply, 4) {
		n, _ := strconv.Atoi(count)
		r.Fields = append(r.Fields, Field{Owner: owner, Count: n})
	}
	r.Waiting = waitingOf(reply, 5)
	return r
}

// waitingOf reads a registry that is an element of a report.
func waitingOf(reply []any, i int) (all []Waiting) {
	now, _ := strconv.ParseFloat(text(reply, 1), 64)
	for client, arrival := range pairs(reply, i) {
		came, _ := strconv.ParseFloat(arrival, 64)
		all = append(all, Waiting{Client: client, For: max(0, time.Duration(now-came)*time.Microsecond)})
	}
	return all
}

// pairs iterates over a list of strings in a reply, two at a time.
func pairs(reply []any, i int) func(yield func(a, b string) bool) {
	return func(yield func(a, b string) bool) {
		if i >= len(reply) {
			return
		}
		list, _ := reply[i].([]any)
		for j := 0; j+1 < len(list); j += 2 {
			if !yield(text(list, j), text(list, j+1)) {
				return
			}
		}
	}
}

package lockstate

import (
	"slices"
	"time"
)

// modelRedis is what Redis has of one lock, as data. Owners that share have a field each with an end of its
// own; an exclusive owner's field is alone, so its end is the key's TTL.
type modelRedis struct {
	fields     []modelField
	epoch      int // commands numbered below it are stale
	registered bool
	barred     bool // no further reader joins

	// For whom a release may grant the lock to the Client, and the attempt's number as the nonce.
	grantee string
	wants   Mode
	nonce   int
}

type modelField struct {
	owner   string
	mode    Mode
	count   int
	expires time.Time
	late    bool // a command set this end that ran after it was settled
}

// verb is a script.
type verb int8

const (
	acquire verb = iota
	transfer
	release
	linger
	setCount
	leaveRegistry
	renew // not numbered
)

// command is one script with its arguments.
type command struct {
	verb      verb
	from, to  string // from is for transfer; otherwise to is the owner
	mode      Mode
	sibling   string // of to
	count     int
	lease     time.Duration
	number    int
	epoch     bool // it sets the epoch
	registers bool
	joins     bool
	departed  []string // whose field, if a release has written it, is taken back
	late      bool     // it runs after it was settled as unknown
}

// reply is what a script answers.
type reply int8

const (
	done reply = iota
	busy
	notHeld
	stale
)

// expire drops the fields whose time is over.
func (r *modelRedis) expire(now time.Time) {
	r.fields = slices.DeleteFunc(r.fields, func(f modelField) bool { return !f.expires.After(now) })
}

func (r *modelRedis) field(owner string) *modelField {
	for i := range r.fields {
		if r.fields[i].owner == owner {
			return &r.fields[i]
		}
	}
	return nil
}

func (r *modelRedis) drop(owner string) {
	r.fields = slices.DeleteFunc(r.fields, func(f modelField) bool { return f.owner == owner })
}

// run executes a command.
func (r *modelRedis) run(c *command, now time.Time) reply {
	r.expire(now)
	if c.verb != renew {
		if r.epoch > c.number {
			return stale
		}
		if c.epoch {
			r.epoch = c.number
		}
	}
	switch c.verb {
	case acquire:
		return r.acquire(c, now)
	case transfer:
		return r.transfer(c, now)
	case leaveRegistry:
		for _, owner := range c.departed {
			r.drop(owner)
		}
		r.registered, r.grantee = false, ""
		return done
	}
	f := r.field(c.to)
	switch {
	case f == nil && c.verb == linger && r.field("nobody") != nil:
		return done
	case f == nil:
		return notHeld
	}
	switch c.verb {
	case release:
		r.drop(c.to)
	case linger:
		*f = modelField{"nobody", Exclusive, 1, now.Add(c.lease), c.late}
	case setCount, renew:
		if end := now.Add(c.lease); end.After(f.expires) {
			f.expires, f.late = end, c.late
		}
		if c.verb == setCount {
			f.count = c.count
		}
	}
	return done
}

func (r *modelRedis) acquire(c *command, now time.Time) reply {
	for _, owner := range c.departed {
		r.drop(owner)
	}
	if c.joins && r.field(c.to) == nil {
		return notHeld
	}
	conflicts := func(f modelField) bool {
		downgrades := f.owner == c.sibling && f.mode == Exclusive && c.mode == Shared
		return f.owner != c.to && !downgrades && Conflicts(f.mode, c.mode)
	}
	if slices.ContainsFunc(r.fields, conflicts) || c.joins && r.barred {
		if c.registers {
			r.registered, r.grantee, r.wants, r.nonce = true, c.to, c.mode, c.number
		}
		return busy
	}
	r.drop(c.to)
	r.fields = append(r.fields, modelField{c.to, c.mode, 1, now.Add(c.lease), c.late})
	r.registered, r.grantee = false, ""
	return done
}

// claim is the lease of a field that a release has written for a waiter.
const claim = testLease / 3

// releaseOther frees the lock for another client, and grants it to this one if it is registered. It returns the
// nonce that it publishes; 0: none.
func (r *modelRedis) releaseOther(now time.Time) (published int) {
	r.drop("other")
	if r.grantee == "" {
		return 0
	}
	r.fields = append(r.fields, modelField{r.grantee, r.wants, 1, now.Add(claim), false})
	r.registered, r.grantee = false, ""
	return r.nonce
}

func (r *modelRedis) transfer(c *command, now time.Time) reply {
	from := r.field(c.from)
	if from == nil && r.field(c.to) == nil {
		return notHeld
	}
	if from != nil {
		moved := modelField{c.to, from.mode, 1, now.Add(c.lease), c.late}
		r.drop(c.from)
		r.drop(c.to)
		r.fields = append(r.fields, moved)
	}
	return done
}

package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// These are the verbs by which a Client changes a lock that one of its owners holds. Each repeats its
// command in the turn, and each try has a number of its own. The attempt of a waiter (attempt.go) and
// ForceUnlock (query.go) are not repeated here: their callers decide on the next try.
//
// A caller's command goes through Client.commands, which combines it with the commands of other
// goroutines. A command of the clean-up goes through Client.single: no call waits for it, and a batch
// would wait for its answer.

// notOurs reports whether the owner's field is gone from Redis: another client has freed the lock, or
// written over its key. For a live ownership that is a loss.
func notOurs(v lua.Verdict, err error) bool {
	return lua.ForeignKey(err) || err == nil && v == lua.NotHeld
}

// setCount sets the owner's hold count. It calls decide with lockState.mu before each try, as the count
// may have changed since the last try; ok is false if there is no reason any more to send the command.
// The TTL is raised to lease, which may be 0.
func (t turn) setCount(ctx context.Context, p lua.Processor, owner string, retries int, decide func() (count int, lease time.Duration, ok bool)) (v lua.Verdict, before bool, err error) {
	return t.repeat(retries, func(order lua.Order) (lua.Verdict, error) {
		t.s.mu.Lock()
		count, lease, ok := decide()
		t.s.mu.Unlock()
		if !ok {
			return 0, errSuperseded
		}
		return t.s.kind.count(ctx, p, &t.s.keys, lua.Count{Owner: owner, Count: count, Lease: lease, Order: order})
	})
}

// transfer moves the owner's field to another owner of this Client. It sets *sent to the time of the
// first try that may have run. A second try finds the field moved, and leaves the lease as it is.
func (t turn) transfer(ctx context.Context, p lua.Processor, move *lua.Transfer, sent *time.Time) (g lua.Granted, before bool, err error) {
	move.Wake = t.s.c.wakeUp()
	_, before, err = t.send(func(order lua.Order) (v lua.Verdict, err error) {
		if sent.IsZero() {
			*sent = time.Now()
		}
		move.Order = order
		g, err = t.s.kind.transfer(ctx, p, &t.s.keys, *move)
		if err != nil && !lua.Unknown(err) && !t.s.sequencer.unknown {
			*sent = time.Time{} // neither this try nor one before it has run
		}
		return g.Verdict, err
	})
	return g, before, err
}

// free frees the lock if the owner's field is in Redis, and passes it on. fenced: the owner has a token. With a
// parting whose time is not over, free leaves the lock to nobody until then.
func (t turn) free(ctx context.Context, p lua.Processor, owner string, fenced bool, to *lockstate.Parting) (v lua.Verdict, before bool, err error) {
	s, epochSet := t.s, true
	v, before, err = t.send(func(order lua.Order) (v lua.Verdict, err error) {
		var set bool
		if left := to.Left(time.Now()); left > 0 {
			v, set, err = s.kind.linger(ctx, p, &s.keys, lua.Linger{Owner: owner, Nobody: to.Nobody, While: left, Order: order, Wake: s.c.wakeUp()})
		} else {
			v, set, err = s.kind.release(ctx, p, &s.keys, lua.Release{Owner: owner, Fencing: fenced, Order: order, Wake: s.c.wakeUp()})
		}
		epochSet = set || order.Epoch == 0
		return v, err
	})
	if err == nil && !epochSet {
		t.epochNotSet()
	}
	return v, before, err
}

// leave takes the Client out of the registry of waiters, and takes back what a release may have granted one of
// the owners. It is not repeated: the clean-up that calls it is.
func (t turn) leave(ctx context.Context, p lua.Processor, owners []string) error {
	_, _, err := t.repeat(0, func(order lua.Order) (lua.Verdict, error) {
		return t.s.kind.leave(ctx, p, &t.s.keys, lua.Leave{Client: t.s.c.id, Owners: owners, Order: order, Wake: t.s.c.wakeUp()})
	})
	return err
}

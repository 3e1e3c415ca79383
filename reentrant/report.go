package reentrant

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/preflight"
	"github.com/redlatch/redlatch/lua"
)

// Inspect tells who holds the lock of that name and who waits for it. It is [Lock.Info] of the lock, whatever its kind is:
// Info.Kind says which. A fair lock is known by those who wait for it, so with nobody waiting it is told as a plain one.
func (c *Client) Inspect(ctx context.Context, name string) (Info, error) {
	l := c.NewLock(name)
	info, err := l.Info(ctx)
	var foreign *ForeignKeyError
	switch {
	case errors.As(err, &foreign) && lua.ReadWriteKey(foreign.Err):
		return c.NewReadWriteLock(name).Write().Info(ctx)
	case err == nil && l.hasLine(ctx):
		return c.NewFairLock(name).Info(ctx)
	}
	return info, err
}

// hasLine reports whether somebody waits for a fair lock of the name. A user without a right to the line sees nobody.
func (l *Lock) hasLine(ctx context.Context) bool {
	waits, err := call(ctx, l.c, nil, func(ctx context.Context) bool {
		line := redis.NewIntCmd(ctx, "llen", l.keys.Queue())
		return l.c.plain.Process(ctx, line) == nil && line.Val() > 0
	})
	return waits && err == nil
}

// Info tells who holds the lock and who waits for it: Clients of Redlatch and of Redisson, in any
// process. A free lock is no error. Info writes nothing, with one exception: it first syncs the field
// that [WriteBehind] may have left to an earlier owner.
//
// It sends one script, and one pipeline for the names of other Clients ([WithClientName]); it leaves out
// names that it cannot get. It needs no permission beyond those of locks, except for the names. It waits
// and fails as [Lock.IsLocked] does.
func (l *Lock) Info(ctx context.Context) (Info, error) {
	fencing := true
	return ask(ctx, l, func(ctx context.Context, _ identity) (info Info, err error) {
		_ = l.syncFieldFirst(ctx) // then Redis names the present holder
		r, err := l.kind.report(ctx, l.c.single, &l.keys, l.c.wakeUp(), fencing)
		if what, _ := preflight.DenialOf(err); what == preflight.Key && fencing {
			fencing = false // a user without fencing may have no right to the counter
			r, err = l.kind.report(ctx, l.c.single, &l.keys, l.c.wakeUp(), fencing)
		}
		if err != nil {
			return info, err
		}
		at := time.Now()
		if info = l.infoOf(r, l.waitersHere(), at); !l.kind.lines {
			slices.SortStableFunc(info.Waiters, func(a, b Waiter) int { return a.Since.Compare(b.Since) })
		}
		l.c.nameAll(ctx, info.parties())
		return info, nil
	})
}

// waitersHere are the calls that wait in this Client.
func (l *Lock) waitersHere() (all []Waiter) {
	s := l.c.findState(l)
	if s == nil {
		return nil
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.state.Waiting(); w != nil; w = w.Next() {
		p, _ := l.partyOf(w.Owner)
		p.Here = true
		all = append(all, Waiter{Party: p, Since: w.Began})
	}
	return all
}

package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/preflight"
)

// Check asks Redis whether locks will work there. It looks whether the Client's user has the permissions
// that locks need, whether Redis may evict locks, and whether a lock can be taken and released now. Call
// it at the start of a program, while there is nothing to lose yet; New sends nothing and cannot know.
//
// err joins what prevents locks: a [PermissionError] for each permission that is missing, or why no lock
// could be taken. Warnings are about what locks can do without, at a price that each warning names: a
// PermissionError that is not Required, and an [EvictionError]. Without Check a missing permission shows
// when its command is needed for the first time, which may be the first renewal, in the middle of the
// work.
//
// Check looks at a lock of its own. The name of that lock begins with the name of each lock in like, or
// else with the prefix alone, and ends in something random. In a Cluster Check looks at one lock for each
// master or, if a hash tag leaves no choice, at one. Pass locks like the locks that you will use if their
// names have hash tags, or if the user's rights begin with more than the prefix. Locks with fencing have
// to be passed.
//
// Check tries a permission with a command that fails, or finds nothing, when it is allowed: it writes
// nothing. If no permission is missing, Check takes the lock and releases it like any other, and events
// tell of it. The lock is gone then, or at the end of its lease if the release fails.
//
// Check takes about ten round trips for each lock that it looks at. When ctx ends it returns ctx's error
// and cause, whatever Redis does, and [ErrClosed] when the Client closes.
func (c *Client) Check(ctx context.Context, like ...*Lock) (warnings []error, err error) {
	if len(like) == 0 {
		if err := checkName(c.cfg.prefix, probeName); err != nil {
			return nil, unchecked(err)
		}
		like = []*Lock{{c: c, kind: plain}}
	}
	for _, l := range like {
		switch {
		case l.c != c:
			return nil, fmt.Errorf("%w: lock %q is another Client's", ErrInvalidOption, l.name)
		case l.err != nil:
			return nil, l.err
		}
	}
	if ctx.Err() != nil {
		return nil, unchecked(whyEnded(ctx))
	}
	asked, cancel := context.WithCancel(ctx) // a ctx that can end: otherwise call ignores closing
	defer cancel()
	found, err := call(asked, c, c.closing, func(lasting context.Context) (found findings) {
		for _, l := range like {
			c.checkLike(asked, lasting, l, &found)
		}
		found.whole = asked.Err() == nil && !c.isClosing()
		return found
	})
	switch {
	case err == nil && found.whole:
		return found.warnings, errors.Join(found.errs...)
	case ctx.Err() != nil && !errors.Is(err, ErrClosed):
		return nil, unchecked(whyEnded(ctx))
	default:
		return nil, ErrClosed
	}
}

// probeName stands in the name of Check's own lock, between the name of a lock in like and a random end.
const probeName = "redlatch-check:"

// findings are what Check has found so far.
type findings struct {
	warnings, errs []error

	whole bool // checkLike has left nothing out
}

func (f *findings) fail(err error) { f.errs = append(f.errs, err) }

// add adds what Check has found out about a server, and reports whether a required permission is missing.
func (f *findings) add(server string, found preflight.Findings) (bad bool) {
	for _, d := range found.Denials {
		e := &PermissionError{Server: server, Rule: d.Rule, Without: d.Without, Required: d.Required, Err: d.Err}
		if d.Required {
			bad = true
			f.fail(e)
		} else {
			f.warnings = append(f.warnings, e)
		}
	}
	if e := found.Eviction; e != nil {
		f.warnings = append(f.warnings, &EvictionError{Server: server, Policy: e.Policy, MaxMemory: e.MaxMemory})
	}
	return bad
}

func unchecked(err error) error { return fmt.Errorf("redlatch: check: %w", err) }

// checkLike looks at a lock like l on every server that may have it. When ctx, the caller's, has ended,
// it begins nothing more. A command that it has sent lasts as long as the redis client allows.
func (c *Client) checkLike(ctx, lasting context.Context, l *Lock, found *findings) {
	names := []string{l.name + probeName + uuid.NewString()}
	if c.cluster != nil && !strings.Contains(c.cfg.prefix+names[0], "{") {
		var err error
		if names, err = c.onEachMaster(lasting, names[0]); err != nil {
			found.fail(unreachable(c.address, err))
			return
		}
	}
	for _, name := range names {
		if ctx.Err() != nil || c.isClosing() {
			return
		}
		// Not by NewLock: this name is longer than the name of l, which may be as long as NewLock allows.
		// Redis takes longer names.
		lock := &Lock{c: c, kind: l.kind, mode: l.mode, name: name, fencing: l.fencing, keys: l.kind.keys(c.cfg.prefix+name, c.id)}
		c.checkLock(ctx, lasting, lock, found)
	}
}

// checkLock looks at a lock on the server that has it. It takes the lock if no required permission is
// missing. Otherwise the lock would be taken and not released, or not renewed, which is what Check is to
// prevent.
func (c *Client) checkLock(ctx, lasting context.Context, lock *Lock, found *findings) {
	t := preflight.Target{
		Node: c.rdb, Keys: lock.keys, Prefix: c.cfg.prefix, Fencing: lock.fencing,
		Cluster: c.cluster != nil, Sharded: c.hub.Sharded(), Replicas: c.cfg.replicas > 0,
	}
	server := c.address
	if c.cluster != nil {
		master, err := c.cluster.MasterForKey(lasting, lock.keys.Lock)
		if err != nil {
			found.fail(unreachable(server, err))
			return
		}
		t.Node, server = master, master.Options().Addr
	}
	if c.nameRecord != nil {
		t.NameKey = c.nameRecord.key + ":check"
	}
	givenUp := func() bool { return ctx.Err() != nil || c.isClosing() }
	seen, err := preflight.Run(lasting, t, givenUp)
	bad := found.add(server, seen)
	switch {
	case err != nil:
		found.fail(unreachable(server, err))
	case !bad && !givenUp():
		if err := lock.tryOnce(lasting, server); err != nil {
			found.fail(err)
		}
	}
}

// tryOnce takes the lock once and releases it. It does so without fencing, whose counter would stay.
func (l *Lock) tryOnce(ctx context.Context, server string) error {
	ctx = WithOwner(ctx, "check")
	lock := &Lock{c: l.c, kind: l.kind, mode: l.mode, name: l.name, keys: l.keys}
	switch ok, err := lock.TryLock(ctx, 0, 0); {
	case err != nil:
		return err
	case !ok:
		return unchecked(fmt.Errorf("%s: lock %q was taken", server, l.name))
	}
	return lock.Unlock(ctx)
}

// onEachMaster returns names that begin with the given name. Each master of the cluster has a lock with
// one of them.
func (c *Client) onEachMaster(ctx context.Context, name string) (names []string, err error) {
	var mu sync.Mutex
	missing := make(map[string]bool)
	err = c.cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		missing[master.Options().Addr] = true
		return nil
	})
	// A master with few slots needs many tries: with a single slot 16384 on average.
	for i := 0; err == nil && len(missing) > 0 && i < 1<<18; i++ {
		try := name + ":" + strconv.Itoa(i)
		var master *redis.Client
		if master, err = c.cluster.MasterForKey(ctx, c.cfg.prefix+try); err != nil {
			break
		}
		if addr := master.Options().Addr; missing[addr] {
			delete(missing, addr)
			names = append(names, try)
		}
	}
	return names, err
}

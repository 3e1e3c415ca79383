package docs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// aclLife does with locks what a Client can do, as one user. What must work, and does not,
// is a failure; the rest are the things that locks can do without.
type aclLife struct {
	t    *testing.T
	a, b *reentrant.Client
	name string // of the locks, which begin with it

	whole  bool                     // nothing is missing
	deaf   bool                     // no subscription is to be had
	server func() *redistest.Server // that has the lock called name
	drop   func(*faultproxy.Rule)   // puts a rule on a's way to the server; nil if there is no proxy
	other  string                   // another lock, on the same server
	move   func(name string)        // moves a lock's key while its slot is on the way; nil outside a Cluster
	ended  func() bool              // the end of a subscription was tried; nil if that is not to be waited for

	failures []string

	woken, handedOver bool
	force, fencing    error
}

func (l *aclLife) must(what string, err error) bool {
	if err != nil {
		l.failures = append(l.failures, what+": "+err.Error())
	}
	return err == nil
}

func (l *aclLife) live(ctx context.Context) {
	me, you := reentrant.WithOwner(ctx, "me"), reentrant.WithOwner(ctx, "you")
	lock, rival := l.a.NewLock(l.name), l.b.NewLock(l.name)
	hold, err := lock.Acquire(me)
	if !l.must("acquire", err) {
		return
	}
	defer l.unsubscribe(me)()
	if l.must("nested lock", lock.Lock(me)) {
		l.must("nested unlock", lock.Unlock(me))
	}
	_, err = lock.IsLocked(me)
	l.must("query", err)
	l.giveUp(you, rival)
	l.renew(hold)
	l.wait(me, you, hold, lock, rival)
	l.lostReply(me)
	l.redirected(me)
	if l.must("lock", lock.Lock(me)) {
		_, l.force = rival.ForceUnlock(you)
		if err := lock.Unlock(me); !errors.Is(err, reentrant.ErrLost) && l.force == nil {
			l.must("unlock of a forced lock", fmt.Errorf("got %v", err))
		}
	}
	kept, err := l.a.NewLock(l.name + "-after").Acquire(me)
	if l.must("acquire", err) {
		l.must("release after", kept.ReleaseAfter(me, 100*time.Millisecond))
	}
	fenced, err := l.a.NewLock(l.name+"-fenced", reentrant.WithFencing()).Acquire(me)
	if l.fencing = err; err == nil {
		l.must("release", fenced.Release(me))
	}
}

// giveUp has another client wait in vain, until it is registered if it can be.
func (l *aclLife) giveUp(ctx context.Context, rival *reentrant.Lock) {
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- rival.Lock(short) }()
	l.until("it waits", l.b, result)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		l.must("wait", err)
	}
	if l.whole {
		redistest.Eventually(l.t, 10*time.Second, "it is taken out of the registry", func() bool { return !l.isRegistered() })
		return
	}
	// Who may not take it out, or has not yet, would seem to wait already the next time.
	l.server().Do(l.t, "ZREM", l.registry(), l.b.ID())
}

// until waits until a client waits and, if it is the other one, can be woken, or until its call
// has ended.
func (l *aclLife) until(what string, c *reentrant.Client, result chan error) {
	redistest.Eventually(l.t, 10*time.Second, what, func() bool {
		if c == l.b && !l.deaf {
			return len(result) > 0 || l.isRegistered()
		}
		return len(result) > 0 || c.Stats().Waiting > 0
	})
}

// unsubscribe has the other client listen for one more lock meanwhile: only what is left of a
// subscription is unsubscribed.
func (l *aclLife) unsubscribe(ctx context.Context) (end func()) {
	if l.ended == nil {
		return func() {}
	}
	lock := l.a.NewLock(l.other)
	if !l.must("lock", lock.Lock(ctx)) {
		return func() {}
	}
	short, cancel := context.WithCancel(ctx)
	result := make(chan error, 1)
	go func() { result <- l.b.NewLock(l.other).Lock(short) }()
	return func() {
		redistest.Eventually(l.t, 10*time.Second, "the end of a subscription", l.ended)
		cancel()
		<-result
		l.must("unlock", lock.Unlock(ctx))
	}
}

func (l *aclLife) isRegistered() bool {
	return l.server().Do(l.t, "ZSCORE", l.registry(), l.b.ID()) != nil
}

func (l *aclLife) registry() string { return "redlatch_waiters:{lock:" + l.name + "}" }

// renew waits until the lock is renewed or lost; that is known already of whoever cannot
// even enter it again.
func (l *aclLife) renew(hold *reentrant.Hold) {
	if len(l.failures) > 0 {
		return
	}
	redistest.Eventually(l.t, 20*time.Second, "a renewal", func() bool {
		return l.a.Stats().Renewals > 0 || hold.Context().Err() != nil
	})
	if l.a.Stats().Renewals == 0 {
		l.must("renewal", context.Cause(hold.Context()))
	}
}

// wait hands the lock over inside a client, then to another one.
func (l *aclLife) wait(me, you context.Context, hold *reentrant.Hold, lock, rival *reentrant.Lock) {
	nothing := func(context.Context) error { return nil }
	local, remote := make(chan error, 1), make(chan error, 1)
	go func() { local <- lock.Do(you, nothing) }()
	l.until("somebody waits here", l.a, local)
	go func() { remote <- rival.Do(me, nothing) }()
	l.until("somebody waits there", l.b, remote)
	l.must("release", hold.Release(me))
	l.must("waiter here", <-local)
	l.must("waiter there", <-remote)
	l.handedOver = l.a.Stats().HandedOver > 0
	l.woken = l.b.Stats().WakeUps.Message > 0
}

// lostReply has the reply to an acquisition lost; the next one is marked.
func (l *aclLife) lostReply(ctx context.Context) {
	if l.drop == nil {
		return
	}
	key := "lock:" + l.name + "-doubt"
	l.drop(&faultproxy.Rule{
		Match: func(args []string) bool {
			return faultproxy.Named("EVALSHA")(args) && len(args) > 3 && args[3] == key
		},
		Times: 1, Action: faultproxy.DropAfter,
	})
	lock := l.a.NewLock(l.name + "-doubt")
	if l.must("lock after a lost reply", lock.Lock(ctx)) {
		l.must("unlock after a lost reply", lock.Unlock(ctx))
	}
}

// redirected asks for a lock that has left its node before its slot has.
func (l *aclLife) redirected(ctx context.Context) {
	if l.move == nil {
		return
	}
	lock := l.a.NewLock(l.name + "-moving")
	if !l.must("lock", lock.LockLease(ctx, time.Minute)) {
		return
	}
	l.move("lock:" + l.name + "-moving")
	_, err := lock.IsHeld(ctx)
	l.must("query in a slot that moves", err)
}

// check has Check look as the user of the life does, and splits what it finds into the
// rules that are required and those that are not, with what happens without them.
func (l *aclLife) check(ctx context.Context) (required, optional map[string]string) {
	warnings, err := l.b.Check(ctx)
	return missing(err), missing(errors.Join(warnings...))
}

func missing(err error) map[string]string {
	found := make(map[string]string)
	var walk func(error)
	walk = func(err error) {
		var p *reentrant.PermissionError
		switch e := err.(type) {
		case nil:
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				walk(err)
			}
		default:
			if errors.As(err, &p) {
				found[p.Rule] = p.Without
			} else {
				found[err.Error()] = ""
			}
		}
	}
	walk(err)
	return found
}

// degrades reads the table of SECURITY.md: what locks can do without, and what happens.
func degrades(t *testing.T) map[string]string {
	t.Helper()
	_, table, found := strings.Cut(read(t, "SECURITY.md"), "| without | what happens |\n|---|---|\n")
	if !found {
		t.Fatal("SECURITY.md does not say what happens without a permission")
	}
	happens := make(map[string]string)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "/"), "|\n"), "|")
		if len(cells) != 2 {
			break
		}
		for _, word := range strings.Split(cells[0], ",") {
			happens[strings.ReplaceAll(strings.Trim(word, " `"), "/", "|")] = strings.TrimSpace(cells[1])
		}
	}
	return happens
}

// aclClient makes a Client that is closed with the test, whatever it holds.
func aclClient(t *testing.T, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	client, err := reentrant.New(rdb, append(opts, reentrant.WithPrefix("lock:"), reentrant.WithLease(3*time.Second))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, patience := range []time.Duration{time.Millisecond, 15 * time.Second} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			_ = client.Close(ctx)
			cancel()
		}
	})
	return client
}

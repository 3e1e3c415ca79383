package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// busyWait is how long a call waits; the ctx of some ends after half of it.
const busyWait = 10 * time.Second

// onBusy are the locks of which it is asked whether they are busy, over the Clients of four servers.
var onBusy = map[string]func(f fleet, t testing.TB) *multilock.MultiLock{
	"all":    func(f fleet, t testing.TB) *multilock.MultiLock { return f.all(t, name) },
	"quorum": func(f fleet, t testing.TB) *multilock.MultiLock { return f[:3].quorum(t, name) },
	"a quorum in all": func(f fleet, t testing.TB) *multilock.MultiLock {
		l, err := multilock.New(f[:3].quorum(t, name), f[3].NewLock(name))
		must(t, err)
		return l
	},
	"all in a quorum": func(f fleet, t testing.TB) *multilock.MultiLock {
		inner, err := multilock.New(f[2].NewLock(name), f[3].NewLock(name))
		must(t, err)
		l, err := multilock.NewQuorum(f[0].NewLock(name), f[1].NewLock(name), inner)
		must(t, err)
		return l
	},
}

func silenceAll(v *virtual) (end func()) {
	var ends []func()
	for _, s := range v.s {
		ends = append(ends, s.silence())
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// The error is ErrBusy exactly where TryLock returns false and nil, and where it would have if the deadline of
// ctx had been its limit.
func TestBusyIsWhatTryLockSays(t *testing.T) {
	nothing := func() {}
	situations := []struct {
		name string
		set  func(t *testing.T, v *virtual, mine fleet) (end func())
		busy bool
	}{
		{"another process", func(t *testing.T, v *virtual, _ fleet) func() {
			must(t, v.process().all(t, name).Lock(v.ctx))
			return nothing
		}, true},
		{"another goroutine", func(t *testing.T, v *virtual, mine fleet) func() {
			must(t, mine.all(t, name).Lock(as(v.ctx, "another")))
			return nothing
		}, true},
		{"silence", func(t *testing.T, v *virtual, _ fleet) func() { return silenceAll(v) }, false},
		{"silence begins", func(t *testing.T, v *virtual, _ fleet) func() {
			must(t, v.process().all(t, name).Lock(v.ctx))
			ended := make(chan func(), 1)
			time.AfterFunc(lease/5, func() { ended <- silenceAll(v) })
			return func() { (<-ended)() }
		}, false},
		{"refusals", func(t *testing.T, v *virtual, _ fleet) func() {
			for _, s := range v.s {
				s.refuse("NOPERM no")
			}
			return func() {
				for _, s := range v.s {
					s.refuse("")
				}
			}
		}, false},
		{"closed Clients", func(t *testing.T, v *virtual, mine fleet) func() {
			for _, c := range mine {
				must(t, c.Close(v.ctx))
			}
			return nothing
		}, false},
	}
	ends := map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"limit": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, nothing },
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, busyWait/2)
		},
		"cancellation": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(busyWait/2, cancel)
			return ctx, cancel
		},
	}
	for kind, lock := range onBusy {
		for _, s := range situations {
			for how, end := range ends {
				for _, wait := range []time.Duration{0, busyWait} {
					if wait == 0 && (how != "limit" || s.name == "silence begins") {
						continue // one attempt is over before
					}
					busy := s.busy && how != "cancellation"
					try := func(t *testing.T, f func(ctx context.Context, l *multilock.MultiLock)) {
						inVirtualTime(t, 4, func(t *testing.T, v *virtual) {
							mine := v.process()
							undo := s.set(t, v, mine)
							ctx, cancel := end(v.ctx)
							defer cancel()
							f(as(ctx, "me"), lock(mine, t))
							undo()
							v.pass(busyWait)
						})
					}
					t.Run(fmt.Sprint(kind, ", ", s.name, ", ", how, " ", wait), func(t *testing.T) {
						t.Parallel() // with bubbles alone: the tests on servers begin when this one has ended
						try(t, func(ctx context.Context, l *multilock.MultiLock) { acquireSays(t, ctx, l, wait, busy) })
						try(t, func(ctx context.Context, l *multilock.MultiLock) { tryLockSays(t, ctx, l, wait, busy, how == "limit") })
					})
				}
			}
		}
	}
}

func acquireSays(t *testing.T, ctx context.Context, l *multilock.MultiLock, wait time.Duration, busy bool) {
	t.Helper()
	_, err := l.Acquire(ctx, reentrant.WithWait(wait))
	var e *multilock.NotAcquiredError
	if errors.Is(err, reentrant.ErrBusy) != busy || !errors.As(err, &e) || e.Busy != busy {
		t.Errorf("Acquire: %v", err)
	}
}

func tryLockSays(t *testing.T, ctx context.Context, l *multilock.MultiLock, wait time.Duration, busy, limit bool) {
	t.Helper()
	ok, err := l.TryLock(ctx, wait, 0)
	if ok || (err == nil) != (busy && limit) || err != nil && errors.Is(err, reentrant.ErrBusy) != busy {
		t.Errorf("TryLock: %v, %v", ok, err)
	}
}

// One member that is busy does not make the lock busy, whatever else errors.Is finds in the error.
func TestOneBusyMemberIsNotBusy(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		mine := v.process()
		must(t, v.process()[0].NewLock(name).Lock(v.ctx))
		must(t, mine[1].Close(v.ctx))
		_, err := mine.quorum(t, name).Acquire(as(v.ctx, "me"), reentrant.WithWait(0))
		wants(t, err, reentrant.ErrNotAcquired, reentrant.ErrClosed)
		if errors.Is(err, reentrant.ErrBusy) {
			t.Errorf("busy: %v", err)
		}
	})
}

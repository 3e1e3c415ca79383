package faulttests

import (
	"maps"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Every script runs twice: nothing is counted twice, freed twice or lost.
func TestFault16And17And18EveryScriptTwice(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name    string
		options []reentrant.LockOption
	}{
		{"plain", nil},
		{"fencing", []reentrant.LockOption{reentrant.WithFencing()}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			r := newFaultRig(t)
			twice := r.proxy.Add(faultproxy.Rule{Match: anyScript, Action: faultproxy.Duplicate})
			c := faultClient(t, r.through(t), reentrant.WithLease(4500*time.Millisecond))
			d := faultClient(t, r.through(t), reentrant.WithLease(4500*time.Millisecond))
			l, there := c.NewLock("l", kind.options...), d.NewLock("l", kind.options...)
			me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
			counts := func(when string, hold *reentrant.Hold, want string) {
				t.Helper()
				if got := r.held(t, "l"); !maps.Equal(got, map[string]string{hold.Owner(): want}) {
					t.Errorf("%s: Redis has %v, want %s: %s", when, got, hold.Owner(), want)
				}
			}

			first, err := l.Acquire(me)
			must(t, err)
			counts("acquired", first, "1")
			must(t, l.Lock(me))
			counts("nested", first, "2")
			before := c.Stats().Renewals
			redistest.Eventually(t, 5*time.Second, "the lock was renewed", func() bool { return c.Stats().Renewals > before })
			must(t, l.Unlock(me))
			counts("unnested", first, "1")

			// To the other owner, then to the other client, each as often as a
			// release wakes somebody: once.
			yours, theirs := make(chan *reentrant.Hold, 1), make(chan *reentrant.Hold, 1)
			acquire := func(l *reentrant.Lock, to chan<- *reentrant.Hold) {
				hold, err := l.Acquire(you)
				if err != nil {
					t.Error(err)
				}
				to <- hold
			}
			go acquire(l, yours)
			redistest.Eventually(t, 5*time.Second, "an owner waits", func() bool { return c.Stats().Waiting == 1 })
			go acquire(there, theirs)
			redistest.Eventually(t, 5*time.Second, "a client waits", func() bool {
				return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
			})
			must(t, first.Release(me))
			second := locktest.InTime(t, 5*time.Second, "hand-off", yours)
			counts("handed over", second, "1")
			must(t, second.Release(me))
			third := locktest.InTime(t, 5*time.Second, "wake-up", theirs)
			counts("woken", third, "1")
			if first.Token() > 0 && (second.Token() <= first.Token() || third.Token() <= second.Token()) {
				t.Errorf("tokens %d, %d, %d", first.Token(), second.Token(), third.Token())
			}

			if freed, err := l.ForceUnlock(me); !freed || err != nil {
				t.Errorf("ForceUnlock: %v, %v", freed, err)
			}
			wants(t, third.Release(you), reentrant.ErrLost)
			if twice.Hits() < 10 {
				t.Errorf("only %d scripts ran twice", twice.Hits())
			}
			twice.Remove()
			locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
		})
	}
}

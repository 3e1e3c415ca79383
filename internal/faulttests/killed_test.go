package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/worker"
	"github.com/redlatch/redlatch/reentrant"
)

// Processes are killed: the holder, in a nested call, and the first in the line of those who
// wait. The lock goes to who is left when the lease is over, which nobody is told of. Then a
// waiter is killed before a release, which goes on to the next at once: a message that the dead
// does not hear is not the end of it.
func TestFault43HolderAndWaitersKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	spec := worker.Spec{Redis: s.Addr(), Lock: "l", Lease: 500 * time.Millisecond}
	holder, dead, deadLater := worker.Start(t, spec), worker.Start(t, spec), worker.Start(t, spec)
	take := func(who string) (l *reentrant.Lock, c *reentrant.Client, taken <-chan error) {
		c = faultClient(t, s.Client(t))
		l = c.NewLock("l", reentrant.WithFencing())
		done := make(chan error, 1)
		go func() { done <- l.Lock(owner(t.Context(), who)) }()
		return l, c, done
	}
	// kill kills a waiter and waits until Redis, too, has noticed.
	kill := func(w *worker.Worker, id string) {
		t.Helper()
		w.Kill()
		redistest.Eventually(t, 20*time.Second, "the dead are not subscribed", func() bool {
			return s.Do(t, "PUBSUB", "NUMSUB", "redisson_lock__channel:{l}:"+id).([]any)[1].(int64) == 0
		})
	}
	last := func() (id string) {
		t.Helper()
		return s.Do(t, "ZRANGE", "redlatch_waiters:{l}", -1, -1).([]any)[0].(string)
	}

	holder.Do(worker.Lock)
	holder.Do(worker.Enter)
	dead.Send(worker.Step{Verb: worker.Lock})
	clientsWait(t, s, 1)
	id := last()
	first, waited, taken := take("first")
	clientsWait(t, s, 2)
	kill(dead, id)
	holder.Stop()
	holder.Kill() // in the middle of things
	must(t, locktest.InTime(t, 20*time.Second, "the one that is left gets the lock", taken))
	if st := waited.Stats(); st.WakeUps.Message != 0 {
		t.Errorf("somebody told of a death: %+v", st.WakeUps)
	}

	deadLater.Send(worker.Step{Verb: worker.Lock})
	clientsWait(t, s, 2) // with the first of the dead, whom nobody has taken out
	id = last()
	second, woken, taken := take("second")
	clientsWait(t, s, 3)
	kill(deadLater, id)
	must(t, first.Unlock(owner(t.Context(), "first")))
	must(t, locktest.InTime(t, 20*time.Second, "the release passes the dead by", taken))
	if st := woken.Stats(); st.WakeUps.Message == 0 {
		t.Errorf("nobody told of a release: %+v", st.WakeUps)
	}
	must(t, second.Unlock(owner(t.Context(), "second")))
	locktest.TidyWithin(t, s, 20*time.Second, "l")
}

package reentrant_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Redis is slow, and callers with little patience come all the time: each of them has left
// when the lock arrives, and the lock goes on to the next. Who released it does not wait
// for that.
func TestTimeUnlockLeavesTheImpatientBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const slow, patience = 300 * time.Millisecond, 250 * time.Millisecond
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		must(t, l.Lock(asHolder(t)))
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				time.Sleep(slow)
			}
			return ""
		})
		var callers []*pending
		for i := range 50 {
			callers = append(callers, begin(func() error {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				_, err := l.TryLock(v.ctx, patience, 0)
				return err
			}))
		}
		time.Sleep(slow)
		began := time.Now()
		must(t, l.Unlock(asHolder(t)))
		if d := time.Since(began); d > 2*slow { // the hand-off, and EVAL for one that is not known yet
			t.Errorf("Unlock took %v, for commands of %v", d, slow)
		}
		for _, c := range callers {
			<-c.done // busy, or silent for too long
		}
		v.onCommand(nil)
		v.pass(10 * time.Second)
		if fields := v.fields("l"); fields != nil {
			t.Errorf("left behind: %v", fields)
		}
	})
}

// A replica is missing and each waiter is refused for that, one ack timeout after the
// other. The release waits for the first of them only, which is its own command.
func TestUnlockLeavesTheRefusedBehind(t *testing.T) {
	t.Parallel()
	const ack, waiters = time.Second, 5
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	redistest.Eventually(t, 20*time.Second, "the replica follows", func() bool {
		return replica.Info(t, "replication", "master_link_status") == "up"
	})
	c := faultClient(t, master.Client(t), reentrant.WithReplicaAcks(1, ack))
	l := c.NewLock("l")
	hold, err := l.Acquire(owner(t.Context(), "me"))
	okay(t, err)
	calls := make(chan error, waiters)
	for i := range waiters {
		go func() { calls <- l.Lock(owner(t.Context(), fmt.Sprint("waiter", i))) }()
	}
	redistest.Eventually(t, 5*time.Second, "all wait", func() bool { return c.Stats().Waiting == waiters })
	replica.Stop()
	refused := 0
	released := make(chan error, 1)
	go func() { released <- hold.Release(owner(t.Context(), "me")) }()
	for done := false; !done; {
		select {
		case err := <-calls:
			wants(t, err, reentrant.ErrReplicas)
			refused++
		case err := <-released:
			okay(t, err)
			done = true
		}
	}
	if refused > 2 { // the first, and perhaps the second before this goroutine was awake
		t.Errorf("the release took as long as it took to refuse %d of %d waiters", refused, waiters)
	}
	for range waiters - refused {
		wants(t, inTime(t, 20*time.Second, "all are refused", calls), reentrant.ErrReplicas)
	}
	replica.Continue()
	freeWithin(t, master, 20*time.Second, "l")
}

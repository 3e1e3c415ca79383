package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// On servers and with their clocks: waiters of both Clients have the lock soon after the end, and not before.
func TestReleaseAfterOnServers(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		if b.name == "miniredis" {
			t.Skip("its keys do not expire by themselves; virtual time has this")
		}
		releaseAfterTellsWaiters(t, b.newClient(t, b.client()), b.newClient(t, b.client()))
	})
}

func TestReleaseAfterInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	releaseAfterTellsWaiters(t, newClient(t, cluster.Client(t)), newClient(t, cluster.Client(t)))
}

func releaseAfterTellsWaiters(t *testing.T, here, there *reentrant.Client) {
	hold, err := here.NewLock("job").Acquire(owner(t.Context(), "me"))
	must(t, err)
	granted := make(chan time.Time, 2)
	for _, c := range []*reentrant.Client{here, there} {
		go func() {
			if err := c.NewLock("job").Do(owner(t.Context(), "you"), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
			granted <- time.Now()
		}()
		redistest.Eventually(t, 5*time.Second, "it waits", func() bool { return c.Stats().Waiting > 0 })
	}
	redistest.Eventually(t, 5*time.Second, "it listens", func() bool { return there.Stats().Subscriptions > 0 })
	time.Sleep(300 * time.Millisecond) // long enough to be registered; if not, it polls sooner
	const d = 400 * time.Millisecond
	called := time.Now()
	must(t, hold.ReleaseAfter(t.Context(), d))
	first := locktest.InTime(t, 5*time.Second, "the first", granted)
	if after := first.Sub(called); after < d-10*time.Millisecond || after > d+500*time.Millisecond {
		t.Errorf("granted %v after the call", after)
	}
	locktest.InTime(t, 5*time.Second, "the second", granted)
}

package reentrant_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
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
	first := inTime(t, 5*time.Second, "the first", granted)
	if after := first.Sub(called); after < d-10*time.Millisecond || after > d+500*time.Millisecond {
		t.Errorf("granted %v after the call", after)
	}
	inTime(t, 5*time.Second, "the second", granted)
}

// The reply is lost, the script runs twice, or comes when the lock is somebody's again.
func TestFaultReleaseAfter(t *testing.T) {
	for what, action := range map[string]faultproxy.Action{"reply lost": faultproxy.DropAfter, "twice": faultproxy.Duplicate} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			l := faultClient(t, r.through(t)).NewLock("l")
			me := owner(t.Context(), "me")
			hold, err := l.Acquire(me)
			okay(t, err)
			rule := r.proxy.Add(faultproxy.Rule{Match: scriptIs("linger"), Times: 1, Action: action})
			okay(t, hold.ReleaseAfter(me, time.Minute))
			if rule.Hits() != 1 {
				t.Errorf("%d hits", rule.Hits())
			}
			fields := hash(t, r.Server.Admin(), "l")
			for field, count := range fields {
				if !strings.Contains(field, ":=released:") || count != "1" || len(fields) != 1 {
					t.Errorf("Redis has %v", fields)
				}
			}
			if ok, err := l.TryLock(me, 0, 0); ok || err != nil {
				t.Errorf("TryLock: %v, %v", ok, err)
			}
			freed, err := l.ForceUnlock(me)
			if !freed || err != nil {
				t.Errorf("ForceUnlock: %v, %v", freed, err)
			}
		})
	}
}

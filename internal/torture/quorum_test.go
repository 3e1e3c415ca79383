//go:build torture

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A quorum of five servers that keep nothing, one of which is restarted every two seconds,
// in turn. No two of four callers trust the lock at the same time, though each server
// forgets it again and again, and the lock goes on being granted.
func TestQuorum(t *testing.T) {
	const (
		servers  = 5
		callers  = 4
		restarts = 30
		pause    = 2 * time.Second
		lease    = time.Second
	)
	var s []*redistest.Server
	for range servers {
		s = append(s, redistest.Start(t))
	}
	log := history.New()
	always, stop := context.WithCancel(t.Context())
	defer stop()
	var crowd sync.WaitGroup
	for i := range callers {
		var members []multilock.Locker
		for _, server := range s {
			members = append(members, newClient(t, server, reentrant.WithLease(lease)).NewLock("q"))
		}
		l, err := multilock.NewQuorum(members...)
		must(t, err)
		crowd.Go(func() {
			owner := fmt.Sprint(i)
			for always.Err() == nil {
				oneHold(reentrant.WithOwner(always, owner), log, l, history.Op{Client: i, Owner: owner, Lock: "q", Lease: lease})
			}
		})
	}
	for i := range restarts {
		<-time.After(pause)
		s[i%servers].Restart()
	}
	stop()
	crowd.Wait()
	h := log.Take()
	grants, lost, after := 0, 0, history.Instant(0)
	var longest time.Duration // without a grant
	for _, op := range h.Ops {
		switch {
		case op.Kind == history.Acquire && op.Outcome == history.OK:
			grants++
			longest, after = max(longest, op.Return.Sub(after)), max(after, op.Return)
		case op.Kind == history.Lost:
			lost++
		}
	}
	t.Logf("%d restarts, %d grants, %d holds lost, at most %v without a grant", restarts, grants, lost, longest.Round(time.Millisecond))
	if grants < 2*restarts {
		t.Error("that shows little")
	}
	accept(t, oracle.Overlap(h))
	for _, server := range s {
		tidy(t, server, "q")
	}
}

// oneHold takes the lock once, keeps it for up to two leases and gives it back.
func oneHold(ctx context.Context, log *history.Log, l *multilock.MultiLock, op history.Op) {
	op.Kind, op.Wait = history.Acquire, -1
	id := log.Call(op)
	hold, err := l.Acquire(ctx)
	if err != nil {
		log.Return(id, func(op *history.Op) { op.Outcome, op.Note = history.Unknown, err.Error() })
		return
	}
	held := log.Granted(id, hold, 0)
	keep := rand.N(20 * time.Millisecond)
	if rand.N(20) == 0 {
		keep = rand.N(2 * op.Lease) // long enough for a restart under it
	}
	select {
	case <-time.After(keep):
	case <-hold.Lost():
		held.Lost()
	}
	done := held.Releasing()
	// With its own limit: the lock must be free for the others, also when ctx has ended.
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*op.Lease)
	defer cancel()
	err = hold.Release(release)
	outcome := history.OK
	if err != nil {
		outcome = history.Unknown
	}
	done(outcome, err)
}

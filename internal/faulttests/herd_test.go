package faulttests

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A thousand calls in ten Clients wait when Redis dies and comes back with its data. While
// it is away they do not hammer its port, when it is back each Client subscribes and asks
// once for all its waiters, and the lock goes round among all of them.
func TestFault50HerdAfterARestart(t *testing.T) {
	t.Parallel()
	const clients, each = 10, 100
	s := redistest.Start(t, redistest.WithAOF())
	var dials atomic.Int64
	counted := func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}
	}
	// Somebody holds it over all this, who needs no renewal.
	s.Do(t, "HSET", "l", "somebody", "1")
	s.Do(t, "PEXPIRE", "l", "600000")
	var waiting []*reentrant.Client
	var group sync.WaitGroup
	turns := 0 // guarded by the lock
	for range clients {
		c := faultClient(t, s.Client(t, counted))
		waiting = append(waiting, c)
		for range each {
			group.Go(func() {
				l := c.NewLock("l")
				if err := l.Lock(t.Context()); err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				turns++
				if err := l.Unlock(t.Context()); err != nil {
					t.Errorf("Unlock: %v", err)
				}
			})
		}
	}
	registered := func() bool {
		n := 0
		for _, c := range waiting {
			n += c.Stats().Waiting
		}
		heard := s.Do(t, "PUBSUB", "CHANNELS", "redisson_lock__channel:{l}:*").([]any)
		return n == clients*each && len(heard) >= clients && s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == clients
	}
	redistest.Eventually(t, 30*time.Second, "all wait, and are registered", registered)

	s.Kill()
	before, down := dials.Load(), time.Now()
	<-time.After(time.Second)
	tried, away := dials.Load()-before, time.Since(down)
	s.Restart()
	up := time.Now()
	redistest.Eventually(t, 30*time.Second, "all are registered again", registered)
	back := time.Since(up)
	scripts := calledOn(t, s, "evalsha") + calledOn(t, s, "eval")
	subscribes := calledOn(t, s, "subscribe")
	t.Logf("%d dials in %v without Redis; back after %v, with %d scripts and %d SUBSCRIBEs", tried, away, back, scripts, subscribes)
	// go-redis alone dials five times for one command.
	if most := 50 * clients * (1 + int(away/time.Second)); tried > int64(most) {
		t.Errorf("%d dials in %v without Redis, %d Clients", tried, away, clients)
	}
	if most := 20 * clients * (1 + int(back/time.Second)); scripts > most {
		t.Errorf("%d scripts in the %v after the restart, %d Clients", scripts, back, clients)
	}
	if subscribes > 5*clients {
		t.Errorf("%d SUBSCRIBEs after the restart, %d Clients", subscribes, clients)
	}
	if got := s.Info(t, "clients", "pubsub_clients"); got != "" && got != "10" {
		t.Errorf("%s subscription connections", got)
	}

	// The lock has outlived the restart. Whoever is told of its end wakes the next one.
	freed := time.Now()
	if ok, err := faultClient(t, s.Client(t)).NewLock("l").ForceUnlock(t.Context()); !ok || err != nil {
		t.Errorf("ForceUnlock: %v, %v", ok, err)
	}
	group.Wait()
	t.Logf("%d turns in %v", turns, time.Since(freed))
	if turns != clients*each {
		t.Errorf("%d of %d had a turn", turns, clients*each)
	}
	for _, c := range waiting {
		locktest.CloseQuickly(t, c)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}

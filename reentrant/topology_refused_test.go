package reentrant_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Row 26: the nodes of a Cluster send each command on for ever, or a slot does not arrive.
func TestFault26RefusedForLong(t *testing.T) {
	for what, refusal := range map[string]string{
		"MOVED":    "MOVED 163 127.0.0.1:7001",
		"ASK":      "ASK 163 127.0.0.1:7001",
		"TRYAGAIN": "TRYAGAIN Multiple keys request during rehashing of slot",
	} {
		t.Run(what, func(t *testing.T) { refusedForLong(t, refusal) })
	}
}

// Row 27: nobody serves the slot.
func TestFault27RefusedForLong(t *testing.T) {
	refusedForLong(t, "CLUSTERDOWN Hash slot not served")
}

// refusedForLong has a Cluster refuse every script for half a lease. Neither the one who
// waits nor the one who holds may hammer it meanwhile, and both go on afterwards.
func refusedForLong(t *testing.T, refusal string) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const (
			lease     = 20 * time.Second
			outage    = lease / 2
			perSecond = 50 // of one client
		)
		// go-redis reads the map on goroutines of its own, which end a moment after its client.
		t.Cleanup(func() { time.Sleep(time.Second) })
		inCluster := func() *reentrant.Client {
			return newClient(t, redistest.MiniClusterClient(t, v.mini), reentrant.WithLease(lease))
		}
		holder, waiter := inCluster(), inCluster()
		hold, err := holder.NewLock("l").Acquire(asHolder(t))
		must(t, err)
		waiting := begin(func() error { return waiter.NewLock("l").Lock(asWaiter(t)) })
		v.pass(time.Second)

		must(t, v.mini.Server().Register("ASKING", func(p *server.Peer, _ string, _ []string) { p.WriteOK() }))
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				return refusal
			}
			return ""
		})
		before := v.requests()
		v.pass(outage)
		n := v.requests() - before
		t.Logf("%d requests of two clients in %v", n, outage)
		if n > 2*perSecond*int(outage/time.Second) {
			t.Error("that is too many")
		}
		if waiting.over() {
			t.Fatalf("the wait has ended: %v", waiting.err)
		}
		if ended(hold.Lost()) {
			t.Fatal("the hold was given up within its lease")
		}

		// Calls that have had no answer end after a few tries. What a release leaves undone
		// the Client does in the background.
		before = v.requests()
		err = holder.NewLock("other").Lock(asHolder(t))
		wants(t, err, reentrant.ErrNotAcquired)
		t.Logf("Lock: %v; %d requests of both clients meanwhile", err, v.requests()-before)
		wants(t, hold.Release(asHolder(t)), reentrant.ErrUnconfirmed)

		v.refuseAll("")
		must(t, waiting.wait())
		if left := v.ttl("l"); left < lease-time.Second {
			t.Errorf("the waiter got the lock with %v left: not freed but expired", left)
		}
		must(t, waiter.NewLock("l").Unlock(asWaiter(t)))
	})
}

// requests counts what clients have sent so far; commands inside scripts as well.
func (v *virtual) requests() (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, sent := range v.sent {
		n += sent
	}
	return n
}

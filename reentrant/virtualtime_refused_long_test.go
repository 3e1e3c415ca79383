package reentrant_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Row 21: somebody's script runs on and on.
func TestFault21RefusedForLong(t *testing.T) {
	refusedForLong(t, oneServer, scripts, "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
}

// Row 23: a master has become a replica, and no other is named.
func TestFault23RefusedForLong(t *testing.T) {
	refusedForLong(t, oneServer, scripts, "READONLY You can't write against a read only replica.")
}

// Row 25: replicas are missing.
func TestFault25RefusedForLong(t *testing.T) {
	refusedForLong(t, oneServer, scripts, "NOREPLICAS Not enough good replicas to write.")
}

// Row 26: the nodes of a Cluster send each command on for ever, or a slot does not arrive.
func TestFault26RefusedForLong(t *testing.T) {
	for what, refusal := range map[string]string{
		"MOVED":    "MOVED 163 127.0.0.1:7001",
		"ASK":      "ASK 163 127.0.0.1:7001",
		"TRYAGAIN": "TRYAGAIN Multiple keys request during rehashing of slot",
	} {
		t.Run(what, func(t *testing.T) { refusedForLong(t, cluster, scripts, refusal) })
	}
}

// Row 27: nobody serves the slot.
func TestFault27RefusedForLong(t *testing.T) {
	refusedForLong(t, cluster, scripts, "CLUSTERDOWN Hash slot not served")
}

// Row 36: a large data set is read.
func TestFault36RefusedForLong(t *testing.T) {
	refusedForLong(t, oneServer, scripts, "LOADING Redis is loading the dataset in memory")
}

// Row 37: there is no connection to be had, not even to say hello.
func TestFault37RefusedForLong(t *testing.T) {
	refusedForLong(t, oneServer, everything, "ERR max number of clients reached")
}

// oneServer and cluster connect a Client of refusedForLong.
func oneServer(t *testing.T, v *virtual) redis.UniversalClient {
	return redistest.MiniClient(t, v.mini)
}

func cluster(t *testing.T, v *virtual) redis.UniversalClient {
	return redistest.MiniClusterClient(t, v.mini)
}

// scripts and everything are what refusedForLong refuses.
func scripts(cmd string) bool { return cmd == "EVALSHA" || cmd == "EVAL" }
func everything(string) bool  { return true }

// refusedForLong has Redis refuse commands for half a lease. Neither the one who waits nor
// the one who holds may hammer it meanwhile, and both go on afterwards.
func refusedForLong(t *testing.T, connect func(*testing.T, *virtual) redis.UniversalClient, refused func(cmd string) bool, refusal string) {
	locktest.Each(t, locktest.AllKinds, func(t *testing.T, k locktest.Kind) { refusedForLongAs(t, k, connect, refused, refusal) })
}

func refusedForLongAs(t *testing.T, k locktest.Kind, connect func(*testing.T, *virtual) redis.UniversalClient, refused func(cmd string) bool, refusal string) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const (
			lease     = 20 * time.Second
			outage    = lease / 2
			perSecond = 50 // of one client
			limit     = 2 * perSecond * int(outage/time.Second)
		)
		// go-redis reads the map on goroutines of its own, which end a moment after its client.
		t.Cleanup(func() { time.Sleep(time.Second) })
		holder := newClient(t, connect(t, v), reentrant.WithLease(lease))
		waiter := newClient(t, connect(t, v), reentrant.WithLease(lease))
		hold, err := k.Acquire(asHolder(t), holder, "l")
		must(t, err)
		waiting := begin(func() error { return k.Rival(waiter, "l").Lock(locktest.AsWaiter(t)) })
		v.pass(time.Second)

		must(t, v.mini.Server().Register("ASKING", func(p *server.Peer, _ string, _ []string) { p.WriteOK() }))
		before := v.requests()
		v.onCommand(func(cmd string, _ []string) string {
			if !refused(cmd) || v.requests()-before > 10*limit { // in a spin virtual time does not go on
				return ""
			}
			return refusal
		})
		v.pass(outage)
		n := v.requests() - before
		t.Logf("%d requests of two clients in %v", n, outage)
		if n > limit {
			t.Fatal("that is too many")
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
		err = k.Held(holder, "other").Lock(asHolder(t))
		wants(t, err, reentrant.ErrNotAcquired)
		t.Logf("Lock: %v; %d requests of both clients meanwhile", err, v.requests()-before)
		wants(t, hold.Release(asHolder(t)), reentrant.ErrUnconfirmed)

		v.refuseAll("")
		must(t, waiting.wait())
		if left := v.ttl("l"); left < lease-time.Second {
			t.Errorf("the waiter got the lock with %v left: not freed but expired", left)
		}
		must(t, k.Rival(waiter, "l").Unlock(locktest.AsWaiter(t)))
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

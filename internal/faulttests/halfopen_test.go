package faulttests

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A firewall forgets the connections of the pool, and the subscription's. The lock is kept by
// renewals on new ones, and its release and the next hold need no more than one command's time.
func TestFault63HalfOpenPool(t *testing.T) {
	t.Parallel()
	const lease, connections, patience = 3 * time.Second, 8, time.Second
	r := newFaultRig(t)
	rdb := r.through(t, locktest.Impatience(patience))
	c := faultClient(t, rdb, reentrant.WithLease(lease))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(me)
	must(t, err)
	conns := make([]*redis.Conn, connections)
	for i := range conns {
		conns[i] = rdb.Conn()
		must(t, conns[i].Ping(t.Context()).Err())
	}
	for _, conn := range conns {
		must(t, conn.Close())
	}
	r.proxy.Forget(faultproxy.Any)
	before := c.Stats().Renewals
	redistest.Eventually(t, 20*lease, "it is renewed five times", func() bool { return c.Stats().Renewals >= before+5 })
	if n := c.Stats().Losses; n > 0 {
		t.Fatalf("%d losses", n)
	}
	_ = hold.Release(me) // it may find a dead connection, and is cleaned up after
	began := time.Now()
	must(t, l.Lock(me))
	if took := time.Since(began); took > connections*patience {
		t.Errorf("Lock took %v, as long as all dead connections one after the other", took)
	}
	must(t, l.Unlock(me))
	locktest.CloseQuickly(t, c)
}

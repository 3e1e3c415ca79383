package reentrant_test

import (
	"net"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A client of Redisson may subscribe at a replica (subscriptionMode SLAVE), where the
// master counts no subscribers. It hears of a release all the same.
func TestReleaseIsHeardAtAReplica(t *testing.T) {
	ctx := t.Context()
	master, replica := redistest.Start(t), redistest.Start(t)
	host, port, err := net.SplitHostPort(master.Addr())
	must(t, err)
	replica.Do(t, "REPLICAOF", host, port)
	redistest.Eventually(t, 10*time.Second, "the replica to follow", func() bool {
		return replica.Info(t, "replication", "master_link_status") == "up"
	})
	redisson := replica.Client(t).Subscribe(ctx, "redisson_lock__channel:{l}")
	defer redisson.Close()
	_, err = redisson.Receive(ctx)
	must(t, err)
	l := newClient(t, master.Client(t)).NewLock("l")
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
	if _, err := redisson.ReceiveTimeout(ctx, 5*time.Second); err != nil {
		t.Errorf("no message: %v", err)
	}
}

package pubsub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/pubsub"
)

const clusterTimeout = 30 * time.Second

// clusterRig is a hub on a cluster, with a name for each of many slots.
type clusterRig struct {
	*testing.T
	cluster *redistest.Cluster
	rdb     *redis.ClusterClient // not the hub's
	hub     *pubsub.Hub
	heard   []*recorder // by number of the name
}

func newClusterRig(t *testing.T, cluster *redistest.Cluster, names int, cfg pubsub.Config, mods ...func(*redis.ClusterOptions)) *clusterRig {
	t.Helper()
	r := &clusterRig{T: t, cluster: cluster, rdb: cluster.Client(t)}
	cfg.Sharded = true
	r.hub = pubsub.NewHub(cluster.Client(t, mods...), cfg)
	t.Cleanup(func() { closeHub(t, r.hub) })
	for i := range names {
		r.heard = append(r.heard, &recorder{})
		r.hub.Listen(channelOf(i), r.heard[i].listen)
	}
	r.await("all are confirmed", func() bool { return r.confirmed() })
	return r
}

func keyOf(i int) string     { return fmt.Sprintf("lock-%d", i) }
func channelOf(i int) string { return fmt.Sprintf("ch:{lock-%d}", i) }

func (r *clusterRig) await(what string, cond func() bool) {
	r.Helper()
	redistest.Eventually(r, clusterTimeout, what, cond)
}

func (r *clusterRig) confirmed() bool {
	for i := range r.heard {
		if !r.hub.Confirmed(channelOf(i)) {
			return false
		}
	}
	return true
}

// publish publishes as a release does: in a script, at the node that serves the key.
func (r *clusterRig) publish(i int) (heard int64, err error) {
	heard, err = r.rdb.Eval(r.Context(), "return redis.call('SPUBLISH', ARGV[1], 'x')", []string{keyOf(i)}, channelOf(i)).Int64()
	if err != nil {
		// go-redis does not look for another master because one refuses connections.
		r.rdb.ReloadState(r.Context())
	}
	return heard, err
}

// allHear publishes on every channel and waits until it is heard. A slot that has just
// moved may not be listened to yet, but the listener will be told Resubscribed then.
func (r *clusterRig) allHear() {
	r.Helper()
	for i, heard := range r.heard {
		r.await(channelOf(i)+" is heard", func() bool {
			n, err := r.publish(i)
			return err == nil && n == 1
		})
		r.await("the message has come", func() bool { return heard.count(pubsub.Message) > 0 })
		heard.take()
	}
}

func (r *clusterRig) forget() {
	for _, heard := range r.heard {
		heard.take()
	}
}

// connections counts the hub's at one node.
func connections(t *testing.T, n *redistest.Server) int {
	t.Helper()
	return strings.Count(n.Do(t, "CLIENT", "LIST", "TYPE", "pubsub").(string), "\n")
}

// One cluster for all, as a cluster takes two seconds to form.
func TestCluster(t *testing.T) {
	t.Parallel()
	redistest.Needs(t, "7.0", "sharded pub/sub")
	cluster := redistest.StartCluster(t, 3)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *redistest.Cluster)
	}{
		{"facts of publishing in scripts", factsOfPublishing},
		{"facts of migration", factsOfMigration},
		{"slots move", slotsMove},
		{"during a migration", duringMigration},
		{"a slot that nobody serves", slotNotServed},
		{"a node restarts", nodeRestarts},
		{"churn", clusterChurn},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, cluster) })
	}
}

func TestClusterWithReplica(t *testing.T) {
	t.Parallel()
	redistest.Needs(t, "7.0", "sharded pub/sub")
	cluster := redistest.StartCluster(t, 3) // two must be left to elect a master
	replica := cluster.AddReplica(t, cluster.Nodes[0])
	failover(t, cluster, replica)
}

func slotsMove(t *testing.T, cluster *redistest.Cluster) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			r := newClusterRig(t, cluster, 60, pubsub.Config{PingInterval: 50 * time.Millisecond},
				func(o *redis.ClusterOptions) { o.Protocol = protocol })
			r.allHear()
			for _, n := range cluster.Nodes {
				if got := connections(t, n); got != 1 {
					t.Errorf("%d connections to %s, want 1", got, n.Addr())
				}
			}

			// Two slots of one node go to different nodes, and are heard there.
			for i := range 12 {
				to := cluster.Nodes[i%3]
				r.forget()
				before := cluster.Owner(t, keyOf(i))
				cluster.MoveSlot(t, keyOf(i), to)
				if before == to {
					continue
				}
				r.await("the listener was told", func() bool { return r.heard[i].count(pubsub.Resubscribed) > 0 })
				for j, heard := range r.heard {
					if n := heard.count(pubsub.Resubscribed); n > 0 && j != i {
						t.Errorf("slot of %s moved, and %s was told", keyOf(i), keyOf(j))
					}
				}
			}
			r.allHear()

			// go-redis itself does not get over the loss of a connection with two slots.
			for _, n := range cluster.Nodes {
				n.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
			}
			for _, heard := range r.heard {
				r.await("everybody was told", func() bool { return heard.count(pubsub.Resubscribed) > 0 })
			}
			r.allHear()
		})
	}
}

// The listener of a slot that is on its way hears what is published at the source, is
// told when the slot has arrived, and hears what is published at the target.
func duringMigration(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster, 1, pubsub.Config{})
	from := cluster.Owner(t, keyOf(0))
	to := cluster.Nodes[0]
	if to == from {
		to = cluster.Nodes[1]
	}
	from.Do(t, "SET", keyOf(0), "held")
	m := cluster.StartMigration(t, keyOf(0), to)
	if n, err := r.publish(0); n != 1 || err != nil {
		t.Fatalf("published with the key at the source: %d, %v", n, err)
	}
	other := r.hub.Listen("other:{lock-0}", func(pubsub.Event) {})
	r.await("a new channel is confirmed during the migration", other.Confirmed)
	// Without its key the script is sent on to the target, where nobody listens yet.
	from.Do(t, "DEL", keyOf(0))
	if n, err := r.publish(0); n != 0 || err != nil {
		t.Fatalf("published without the key at the source: %d, %v", n, err)
	}
	m.Finish(t)
	r.await("the listener was told", func() bool { return r.heard[0].count(pubsub.Resubscribed) == 1 && other.Confirmed() })
	r.allHear()
}

func failover(t *testing.T, cluster *redistest.Cluster, replica *redistest.Server) {
	var reconnects atomic.Int32
	master := cluster.Nodes[0]
	r := newClusterRig(t, cluster, 30, pubsub.Config{OnReconnect: func(error) { reconnects.Add(1) }})
	r.allHear()

	r.forget()
	factsOfReplicas(t, cluster, replica) // which changes the roles, meanwhile
	for i, heard := range r.heard {
		if cluster.Owner(t, keyOf(i)) == replica {
			r.await("everybody was told", func() bool { return heard.count(pubsub.Resubscribed) > 0 })
		}
	}
	// The replica accepts SSUBSCRIBE as well, but is not where it counts.
	r.await("the hub does not listen at the replica", func() bool {
		return len(master.Do(t, "PUBSUB", "SHARDCHANNELS", "ch:*").([]any)) == 0
	})
	r.allHear()
	if reconnects.Load() == 0 {
		t.Error("OnReconnect was not called")
	}

	// A crash: the other takes over after the node timeout.
	replica.Kill()
	r.await("the replica takes over", func() bool {
		return master.Info(t, "replication", "role") == "master"
	})
	r.await("everybody hears again", func() bool {
		for i := range r.heard {
			if n, err := r.publish(i); n != 1 || err != nil {
				return false
			}
		}
		return true
	})
}

// A slot that is taken from all nodes is asked for until one of them has it.
func slotNotServed(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster, 2, pubsub.Config{})
	owner := cluster.Owner(t, keyOf(0))
	slot := owner.Do(t, "CLUSTER", "KEYSLOT", keyOf(0))
	for _, n := range cluster.Nodes {
		n.Do(t, "CLUSTER", "DELSLOTS", slot)
	}
	r.await("it is gone", func() bool { return !r.hub.Confirmed(channelOf(0)) })
	sub := r.hub.Listen("late:{lock-0}", func(pubsub.Event) {})
	owner.Do(t, "CLUSTER", "ADDSLOTS", slot)
	r.await("it is back", func() bool { return r.hub.Confirmed(channelOf(0)) && sub.Confirmed() })
	for _, n := range cluster.Nodes { // for the tests to come
		r.await("all nodes know", func() bool {
			return strings.Contains(n.Do(t, "CLUSTER", "INFO").(string), "cluster_state:ok")
		})
	}
	r.allHear()
}

func nodeRestarts(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster, 30, pubsub.Config{})
	cluster.Nodes[1].Restart()
	r.await("all are confirmed again", r.confirmed)
	r.allHear()
}

// Channels come and go while slots move: all who stay hear in the end.
func clusterChurn(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster, 20, pubsub.Config{Linger: 50 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rng := rand.New(rand.NewPCG(1, 2))
		for ctx.Err() == nil {
			sub := r.hub.Listen(fmt.Sprintf("%d:{lock-%d}", rng.IntN(10), rng.IntN(40)), func(pubsub.Event) {})
			if rng.IntN(3) > 0 {
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
			}
			sub.Close()
		}
	}()
	moves := 0
	for ; ctx.Err() == nil; moves++ {
		cluster.MoveSlot(t, keyOf(moves%40), cluster.Nodes[rand.IntN(3)])
		if moves%20 == 19 {
			cluster.Nodes[rand.IntN(3)].Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		}
	}
	<-done
	t.Logf("%d moves", moves)
	r.await("all are confirmed", r.confirmed)
	r.allHear()
	r.await("no other channel is left", func() bool { return r.hub.Channels() == 20 })
	for _, n := range cluster.Nodes {
		r.await("nor at the nodes", func() bool {
			for _, name := range n.Do(t, "PUBSUB", "SHARDCHANNELS").([]any) {
				if !strings.HasPrefix(name.(string), "ch:") {
					return false
				}
			}
			return true
		})
	}
}

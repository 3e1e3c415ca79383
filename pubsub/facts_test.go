package pubsub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// What the package relies on, asked of Redis itself.

// facts is two masters of a cluster, and for each a tag whose slot it has.
type facts struct {
	*testing.T
	cluster *redistest.Cluster
	a, b    *redistest.Server
	tag     map[*redistest.Server]string
}

func newFacts(t *testing.T, cluster *redistest.Cluster) *facts {
	f := &facts{T: t, cluster: cluster, tag: map[*redistest.Server]string{}}
	f.a, f.b = f.cluster.Nodes[0], f.cluster.Nodes[1]
	for i := 0; f.tag[f.a] == "" || f.tag[f.b] == ""; i++ {
		tag := fmt.Sprintf("{%d}", i)
		f.tag[f.cluster.Owner(t, tag)] = tag
	}
	return f
}

// subscription is a connection that the test reads.
type subscription struct {
	*facts
	ps *redis.PubSub
}

func (f *facts) subscribe(n *redistest.Server, channels ...string) *subscription {
	f.Helper()
	s := &subscription{f, n.Client(f).SSubscribe(f.Context(), channels...)}
	f.Cleanup(func() { s.ps.Close() })
	return s
}

// next returns what comes next, as "kind channel", or the error.
func (s *subscription) next() string {
	s.Helper()
	reply, err := s.ps.ReceiveTimeout(context.Background(), clusterTimeout)
	switch reply := reply.(type) {
	case *redis.Subscription:
		return reply.Kind + " " + reply.Channel
	case *redis.Message:
		return "message " + reply.Channel
	}
	return err.Error()
}

// want checks what comes next.
func (s *subscription) want(prefix string) {
	s.Helper()
	if got := s.next(); !strings.HasPrefix(got, prefix) {
		s.Errorf("got %q, want %q", got, prefix)
	}
}

// eval runs a script that publishes, and returns the count or the error.
func (f *facts) eval(n *redistest.Server, key, channel string) any {
	v, err := n.Admin().Do(f.Context(), "EVAL", "return redis.call('SPUBLISH', ARGV[1], 'x')", 1, key, channel).Result()
	if err != nil {
		return err.Error()
	}
	return v
}

func (f *facts) wantError(got any, part string) {
	f.Helper()
	if text, _ := got.(string); !strings.Contains(text, part) {
		f.Errorf("got %v, want an error with %q", got, part)
	}
}

// A replica accepts SSUBSCRIBE for the slots of its master, and hears what is
// published there; the master does not count it.
func factsOfReplicas(t *testing.T, cluster *redistest.Cluster, replica *redistest.Server) {
	f := newFacts(t, cluster)
	x, y := "x"+f.tag[f.a], "y"+f.tag[f.a]
	s, atReplica := f.subscribe(f.a, x), f.subscribe(replica, x)
	s.want("ssubscribe " + x)
	atReplica.want("ssubscribe " + x)
	f.subscribe(replica, "x"+f.tag[f.b]).want("MOVED ")
	if n := f.a.Do(t, "SPUBLISH", x, "1"); n != int64(1) {
		t.Errorf("SPUBLISH counted %v, want the one at the master", n)
	}
	s.want("message " + x)
	atReplica.want("message " + x)
	if got := f.a.Do(t, "PUBSUB", "SHARDNUMSUB", x); !slices.Equal(got.([]any), []any{x, int64(1)}) {
		t.Errorf("SHARDNUMSUB = %v, want the one at the master", got)
	}

	// Subscribers at the old master lose their subscriptions without a request. Subscribers at the
	// replica lose them too from Redis 7.2.2 on, and keep them before. What was a master accepts new
	// ones as a replica.
	cluster.Failover(t, replica, f.a)
	s.want("sunsubscribe " + x)
	kept := int64(1)
	if redistest.AtLeast(t, "7.2.2") {
		kept = 0
		atReplica.want("sunsubscribe " + x)
	}
	if n := replica.Do(t, "SPUBLISH", x, "2"); n != kept {
		t.Errorf("the new master counts %v, want %d that were there", n, kept)
	}
	if kept > 0 {
		atReplica.want("message " + x)
	}
	f.subscribe(f.a, y).want("ssubscribe " + y)
	if n := replica.Do(t, "SPUBLISH", y, "3"); n != int64(0) {
		t.Errorf("the new master counts %v, want none", n)
	}
}

// Lock, registry and channels are in one slot, so a release may publish on all of them.
func factsOfPublishing(t *testing.T, cluster *redistest.Cluster) {
	f := newFacts(t, cluster)
	key, channel, y := "k"+f.tag[f.a], "x"+f.tag[f.a], "y"+f.tag[f.a]
	f.subscribe(f.a, "x"+f.tag[f.b]).want("MOVED ")
	f.subscribe(f.a, channel, "x{other}").want("CROSSSLOT ")
	s := f.subscribe(f.a, y, channel)
	s.want("ssubscribe " + y) // in the order of the command
	s.want("ssubscribe " + channel)
	if err := s.ps.SSubscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	s.want("ssubscribe " + channel) // a second time as the first

	if n := f.eval(f.a, key, channel); n != int64(1) {
		t.Errorf("a channel of the key's slot, which is not declared: %v", n)
	}
	s.want("message " + channel)
	f.wantError(f.eval(f.b, key, channel), "MOVED")
	f.wantError(f.eval(f.a, key, "x"+f.tag[f.b]), "non local key")
	// PUBSUB SHARDNUMSUB counts what is at this node, whatever the slot.
	counts, err := f.a.Admin().Do(t.Context(), "EVAL", "return redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1], ARGV[2])", 1, key, channel, "none").Slice()
	if err != nil || !slices.Equal(counts, []any{channel, int64(1), "none", int64(0)}) {
		t.Errorf("SHARDNUMSUB in a script: %v, %v", counts, err)
	}
	if got := f.a.Do(t, "PUBSUB", "SHARDNUMSUB", "0"); !slices.Equal(got.([]any), []any{"0", int64(0)}) {
		t.Errorf("the question that Redisson asks: %v", got)
	}
	// Plain and sharded channels are two worlds.
	if n := f.a.Do(t, "PUBLISH", channel, "x"); n != int64(0) {
		t.Errorf("PUBLISH reached %v", n)
	}
}

func factsOfMigration(t *testing.T, cluster *redistest.Cluster) {
	f := newFacts(t, cluster)
	key, channel := "k"+f.tag[f.a], "x"+f.tag[f.a]
	f.a.Do(t, "SET", key, "held")
	s := f.subscribe(f.a, channel)
	s.want("ssubscribe " + channel)

	m := f.cluster.StartMigration(t, key, f.b)
	f.subscribe(f.a, "y"+f.tag[f.a]).want("ssubscribe y")
	f.subscribe(f.b, "y"+f.tag[f.a]).want("MOVED ")
	if n := f.eval(f.a, key, channel); n != int64(1) {
		t.Errorf("a script whose key is at the source: %v", n)
	}
	s.want("message " + channel)
	f.wantError(f.eval(f.a, "none"+f.tag[f.a], channel), "ASK ")
	// Some keys of a lock's script never exist: until the slot has arrived, none runs.
	_, err := f.a.Admin().Do(t.Context(), "EVAL", "return 1", 2, key, "none"+f.tag[f.a]).Result()
	if !redis.HasErrorPrefix(err, "TRYAGAIN") {
		t.Errorf("a script with keys on both sides: %v", err)
	}
	m.Finish(t)
	s.want("sunsubscribe " + channel) // unasked
	if err := s.ps.SUnsubscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	s.want("MOVED ")
}

package faulttests

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// What people put around a redis client, by what can be seen of it from outside.
type (
	aroundServer  struct{ *redis.Client }
	aroundCluster struct{ *redis.ClusterClient }
	aroundRing    struct{ *redis.Ring }

	// aroundAny hides what is in it, aroundShown says it and counts what goes through.
	aroundAny   struct{ redis.UniversalClient }
	aroundShown struct {
		redis.UniversalClient
		sent *atomic.Int64
	}

	// aroundEndless has no client in it.
	aroundEndless struct{ redis.UniversalClient }

	// aroundPipeliner sends commands another way than the client that it shows.
	aroundPipeliner struct {
		*redis.AutoPipeliner
		inner redis.UniversalClient
	}
)

func (a aroundShown) Unwrap() redis.UniversalClient     { return a.UniversalClient }
func (a aroundEndless) Unwrap() redis.UniversalClient   { return a }
func (a aroundPipeliner) Unwrap() redis.UniversalClient { return a.inner }

func (a aroundShown) Process(ctx context.Context, cmd redis.Cmder) error {
	a.sent.Add(1)
	return a.UniversalClient.Process(ctx, cmd)
}

func shown(rdb redis.UniversalClient) aroundShown { return aroundShown{rdb, new(atomic.Int64)} }

// What New accepts works in full, whatever is around the client: a check, two locks in
// different slots that are renewed, a waiter that is woken by a message, Close.
func TestFault65WrappedClients(t *testing.T) {
	t.Parallel()
	server, group, cluster := redistest.Start(t), redistest.StartSentinel(t), redistest.StartCluster(t, 2)
	names := []string{inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0], inSlotsOf(t, cluster, cluster.Nodes[1], 1)[0]}
	// As go-redis' own for Sentinels (NewFailoverClusterClient), whose goroutine outlives Close.
	ofGroup := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: group.Master.Addr()}}}}, nil
	}})
	t.Cleanup(func() { ofGroup.Close() })

	for what, rdb := range map[string]redis.UniversalClient{
		"server":                    server.Client(t),
		"server, its type embedded": aroundServer{server.Client(t)},
		"server, by pointer":        &aroundServer{server.Client(t)},
		"server, unwrapped":         shown(server.Client(t)),
		"server, unwrapped twice":   shown(shown(aroundServer{server.Client(t)})),
		"Sentinel":                  group.Client(t),
		"Sentinel, embedded":        aroundServer{group.Client(t)},
		"Sentinel, unwrapped":       shown(group.Client(t)),
		"Sentinel as a Cluster":     aroundCluster{ofGroup},
		"the same, unwrapped":       shown(ofGroup),
		"Cluster":                   cluster.Client(t),
		"Cluster, embedded":         aroundCluster{cluster.Client(t)},
		"Cluster, unwrapped":        shown(cluster.Client(t)),
		"Cluster, unwrapped twice":  shown(shown(aroundCluster{cluster.Client(t)})),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			prefix := strings.Map(func(r rune) rune {
				if r == ' ' {
					return '-'
				}
				return r
			}, what)
			worksInFull(t, rdb, names[0]+":{"+names[0]+"}:"+prefix, names[1]+":{"+names[1]+"}:"+prefix)
			if a, counts := rdb.(aroundShown); counts && a.sent.Load() == 0 {
				t.Error("nothing was sent through the wrapper")
			}
		})
	}
}

// worksInFull does with two locks what programs do, by two Clients.
func worksInFull(t *testing.T, rdb redis.UniversalClient, names ...string) {
	const lease = 2 * time.Second
	holder, waiter := faultClient(t, rdb, reentrant.WithLease(lease)), faultClient(t, rdb, reentrant.WithLease(lease))
	if warnings, err := holder.Check(t.Context(), holder.NewLock(names[0])); err != nil || len(warnings) > 0 {
		t.Errorf("Check: %v, warnings %v", err, warnings)
	}
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	var holds []*reentrant.Hold
	for _, name := range names {
		hold, err := holder.NewLock(name).Acquire(me)
		must(t, err)
		holds = append(holds, hold)
	}
	first := holds[1].ValidUntil()
	redistest.Eventually(t, 30*time.Second, "all are renewed", func() bool {
		renewed := 0
		for _, hold := range holds {
			if ended(hold.Lost()) {
				t.Fatalf("lost: %v", context.Cause(hold.Context()))
			}
			if hold.ValidUntil().After(first.Add(lease)) {
				renewed++
			}
		}
		return renewed == len(holds)
	})

	before, got := waiter.Stats().WakeUps, make(chan error, 1)
	for i, name := range names {
		go func() { got <- waiter.NewLock(name).Lock(you) }()
		redistest.Eventually(t, 20*time.Second, "the waiter listens", func() bool {
			return waiter.Stats().Waiting == 1 && waiter.Stats().WakeUps.Subscribed > before.Subscribed
		})
		before.Subscribed = waiter.Stats().WakeUps.Subscribed
		must(t, holds[i].Release(me))
		must(t, locktest.InTime(t, 30*time.Second, "the waiter has the lock", got))
		must(t, waiter.NewLock(name).Unlock(you))
	}
	// A poll may come first once, but without messages there is nothing else.
	if waiter.Stats().WakeUps.Message == before.Message {
		t.Errorf("no message: %+v", waiter.Stats().WakeUps)
	}
	locktest.CloseQuickly(t, waiter)
	locktest.CloseQuickly(t, holder)
}

// What New cannot tell the kind of, or would not work with, it refuses at once and says
// what to pass, instead of failing later, on a goroutine of its own.
func TestFault65WrappedAndRefused(t *testing.T) {
	t.Parallel()
	single := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour})
	pipeliner, err := single.AutoPipeline()
	must(t, err)
	deferred, err := cluster.AsyncAutoPipeline()
	must(t, err)
	for _, c := range []redis.UniversalClient{pipeliner, deferred, single, sentinel, cluster, ring} {
		t.Cleanup(func() { c.Close() })
	}
	const (
		unknown   = "Unwrap() redis.UniversalClient"
		onRing    = "pass a *redis.Client or a *redis.ClusterClient"
		pipelined = "pass the client that it was made from"
		none      = "no redis client"
	)
	for what, c := range map[string]struct {
		rdb  redis.UniversalClient
		says string
	}{
		"server, hidden":              {aroundAny{single}, unknown},
		"Sentinel, hidden":            {aroundAny{sentinel}, unknown},
		"Cluster, hidden":             {aroundAny{cluster}, unknown},
		"Cluster, hidden and shown":   {shown(aroundAny{cluster}), unknown},
		"Ring, hidden":                {aroundAny{ring}, unknown},
		"Ring":                        {ring, onRing},
		"Ring, embedded":              {aroundRing{ring}, onRing},
		"Ring, unwrapped":             {shown(ring), onRing},
		"AutoPipeliner":               {pipeliner, pipelined},
		"AutoPipeliner, deferred":     {deferred, pipelined},
		"AutoPipeliner, unwrapped":    {shown(pipeliner), pipelined},
		"AutoPipeliner, other inside": {aroundPipeliner{pipeliner, single}, pipelined},
		"endless":                     {aroundEndless{}, unknown},

		"nil":                     {nil, none},
		"nil server":              {(*redis.Client)(nil), none},
		"nil Cluster":             {(*redis.ClusterClient)(nil), none},
		"nil Ring":                {(*redis.Ring)(nil), none},
		"no server":               {&redis.Client{}, none},
		"no Cluster":              {&redis.ClusterClient{}, none},
		"nil server, embedded":    {aroundServer{}, none},
		"nil Cluster, embedded":   {aroundCluster{}, none},
		"nil Ring, embedded":      {aroundRing{}, none},
		"nil wrapper":             {(*aroundServer)(nil), none},
		"nil wrapper, unwrapped":  {(*aroundShown)(nil), none},
		"nil interface":           {aroundAny{}, unknown},
		"nil interface unwrapped": {shown(nil), none},
		"nil server, unwrapped":   {shown((*redis.Client)(nil)), none},
	} {
		t.Run(what, func(t *testing.T) {
			client, err := reentrant.New(c.rdb)
			if client != nil || !errors.Is(err, reentrant.ErrInvalidOption) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("New(%T): %v, want one that says %q", c.rdb, err, c.says)
			}
		})
	}
}

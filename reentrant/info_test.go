package reentrant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// On a server and in a Cluster, where the names are in other slots than the lock.
func TestInfoOnServers(t *testing.T) {
	t.Parallel()
	for what, start := range map[string]func(t *testing.T) func() redis.UniversalClient{
		"server": func(t *testing.T) func() redis.UniversalClient {
			s := redistest.Start(t)
			return func() redis.UniversalClient { return s.Client(t) }
		},
		"Cluster": func(t *testing.T) func() redis.UniversalClient {
			c := redistest.StartCluster(t, 3)
			return func() redis.UniversalClient { return c.Client(t) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			infoOnServers(t, start(t))
		})
	}
}

func infoOnServers(t *testing.T, client func() redis.UniversalClient) {
	holder := newClient(t, client(), reentrant.WithClientName("holder"))
	looker := newClient(t, client())
	hold, err := holder.NewLock("order:42", reentrant.WithFencing()).Acquire(owner(t.Context(), "me"))
	must(t, err)
	began := time.Now()
	waited := make(chan error, 5)
	for range cap(waited) {
		waiter := newClient(t, client(), reentrant.WithClientName("waiter"))
		go func() {
			waited <- waiter.NewLock("order:42", reentrant.WithFencing()).Do(owner(t.Context(), "you"), doNothing)
		}()
	}
	var info reentrant.Info
	redistest.Eventually(t, 10*time.Second, "all are known by name", func() bool {
		info, err = looker.Inspect(t.Context(), "order:42")
		must(t, err)
		known := strings.HasPrefix(info.Holder.Name, "holder@") && len(info.Waiters) == cap(waited)
		for _, w := range info.Waiters {
			known = known && strings.HasPrefix(w.Name, "waiter@")
		}
		return known
	})
	if info.Holder.Owner != "me" || info.Count != 1 || info.Token != hold.Token() || info.TTL <= 0 || info.Holder.Here || info.Redisson != 0 {
		t.Errorf("%+v", info)
	}
	for n, w := range info.Waiters {
		if d := w.Since.Sub(began); d < -time.Second || d > 15*time.Second || w.From != reentrant.FromGo || n > 0 && w.Since.Before(info.Waiters[n-1].Since) {
			t.Errorf("waiter %d: %+v", n, w)
		}
	}
	t.Log(info)
	must(t, hold.Release(t.Context()))
	for range cap(waited) {
		must(t, locktest.InTime(t, 10*time.Second, "it had the lock", waited))
	}
}

// Clients of Redisson that wait are counted: they listen to the common channel alone.
func TestInfoCountsRedisson(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	java := s.Client(t).Subscribe(t.Context(), "redisson_lock__channel:{order:42}")
	defer java.Close()
	_, err := java.Receive(t.Context())
	must(t, err)
	info, err := newClient(t, s.Client(t)).Inspect(t.Context(), "order:42")
	if err != nil || info.Redisson != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// The user of locks without fencing has no right to the counter.
func TestInfoWithoutTheCounter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	locktest.SetUser(t, s, "u", "~order:42", "~redlatch_*", "&*", "+@all")
	c := newClient(t, s.Client(t, locktest.AsUser("u")))
	me := owner(t.Context(), "me")
	must(t, c.NewLock("order:42").Lock(me))
	info, err := c.Inspect(t.Context(), "order:42")
	if err != nil || !info.Held || info.Token != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	must(t, c.NewLock("order:42").Unlock(me))
}

// Check looks at the right to the name's key, for whom has a name.
func TestCheckClientName(t *testing.T) {
	for prefix, rule := range map[string]string{"lock:": "~redlatch_client:{lock:*", "{a}:": "~redlatch_client:{a}:*"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			locktest.SetUser(t, s, "u", "~"+prefix+"*", "~redlatch_e*", "~redlatch_t*", "~redlatch_w*", "~redisson*", "&*", "+@all")
			plain := newClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithPrefix(prefix))
			if warnings, err := plain.Check(t.Context()); err != nil || len(warnings) != 0 {
				t.Errorf("without a name: %v, %v", warnings, err)
			}
			c := newClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithPrefix(prefix), reentrant.WithClientName("billing"))
			warnings, err := c.Check(t.Context())
			if rules := locktest.RulesOf(t, warnings...); err != nil || len(rules) != 1 || rules[0] != rule {
				t.Fatalf("%v, %v", rules, err)
			}
			locktest.SetUser(t, s, "u", rule)
			if warnings, err := c.Check(t.Context()); err != nil || len(warnings) != 0 {
				t.Errorf("with the right: %v, %v", warnings, err)
			}
			s.Do(t, "ACL", "LOG", "RESET")
			me := owner(t.Context(), "me")
			c = newClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithPrefix(prefix), reentrant.WithClientName("billing")) // the other one was refused
			must(t, c.NewLock("x").Lock(me))
			redistest.Eventually(t, 5*time.Second, "it is known by name", func() bool {
				info, err := plain.Inspect(t.Context(), "x")
				return err == nil && strings.HasPrefix(info.Holder.Name, "billing@")
			})
			must(t, c.NewLock("x").Unlock(me))
			if log := s.Do(t, "ACL", "LOG").([]any); len(log) > 0 {
				t.Errorf("refused: %v", log)
			}
		})
	}
}

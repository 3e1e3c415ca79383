package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Every connection in the pool is forgotten by a NAT while the lock is held, and new ones work:
// the lock is kept, whatever the lease and the timeouts are and however many connections were idle.
func TestFault63HalfOpenPoolKeepsTheLock(t *testing.T) {
	t.Parallel()
	type setting struct {
		lease time.Duration
		idle  int
		read  time.Duration
		ctx   bool
	}
	for _, s := range []setting{
		{30 * time.Second, 8, 0, false},
		{3 * time.Second, 5, 0, false},
		{3 * time.Second, 64, 0, false},
		{3 * time.Second, 64, 0, true},
		{3 * time.Second, 8, time.Minute, false},
		{3 * time.Second, 8, -1, false},
		{3 * time.Second, 8, -1, true},
		{3 * time.Second, 8, -2, false},
		{3 * time.Second, 8, 100 * time.Millisecond, false},
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					n := &nat{}
					rdb := n.client(t, v, func(o *redis.Options) {
						o.ReadTimeout, o.ContextTimeoutEnabled = s.read, s.ctx
					})
					var failed atomic.Int64
					c := newClient(t, rdb, reentrant.WithLease(s.lease), reentrant.WithEvents(reentrant.Events{
						RenewFailed: func(reentrant.Event) { failed.Add(1) },
					}))
					hold, err := k.Acquire(v.ctx, c, "l")
					must(t, err)
					idle(t, rdb, s.idle)
					n.forget()
					for range 100 {
						v.pass(s.lease / 3)
						if ended(hold.Lost()) {
							t.Fatalf("lost: %v, after %d tries that failed", locktest.ContextCause(hold), failed.Load())
						}
					}
					if open := int(n.open.Load()); open > s.idle+4 {
						t.Errorf("%d connections are open, %d of them old ones at most", open, s.idle)
					}
					if failed.Load() == 0 {
						t.Error("RenewFailed was not called: were the connections forgotten?")
					}
				})
			})
		})
	}
}

// A renewal past the pool passes the program's hooks, also those that were added late, and tells of a
// loss; the program's client keeps its pool and its options.
func TestFault63RenewalsPastThePoolPassHooks(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		n, h := &nat{}, &countingHook{}
		rdb := n.client(t, v)
		before := *rdb.Options()
		c := newClient(t, rdb, reentrant.WithLease(30*time.Second))
		rdb.AddHook(h)
		l := c.NewLock("l")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		idle(t, rdb, 64)
		n.forget()
		answered := h.answered.Load()
		v.scripts()
		v.pass(25 * time.Second)
		if n := v.scripts(); n == 0 || h.answered.Load()-answered != int64(n) {
			t.Errorf("%d renewals have reached Redis, the hook has seen %d", n, h.answered.Load()-answered)
		}
		if rdb.Options().ReadTimeout != before.ReadTimeout || rdb.Options().PoolSize != before.PoolSize {
			t.Error("the client's options have changed")
		}
		if rdb.PoolStats().IdleConns < 32 {
			t.Errorf("%d connections are left in the pool", rdb.PoolStats().IdleConns)
		}
		v.mini.Del("l") // as an operator would
		for range 12 {
			v.pass(time.Second)
		}
		var why *reentrant.LostError
		if !errors.As(locktest.ContextCause(hold), &why) || why.Reason != reentrant.Overridden {
			t.Errorf("within a third of the lease: %v", locktest.ContextCause(hold))
		}
	})
}

// countingHook counts scripts that were answered.
type countingHook struct{ answered atomic.Int64 }

func (h *countingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *countingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var reply redis.Error
		if cmd.Name() == "evalsha" && (err == nil || errors.As(err, &reply)) {
			h.answered.Add(1)
		}
		return err
	}
}

func (h *countingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// saysWhere shows that it is a client of one server, and hides all else that a renewal could use.
type saysWhere struct {
	redis.UniversalClient
	options *redis.Options
}

// unwraps hides its client, and says which it is.
type unwraps struct{ redis.UniversalClient }

func (u unwraps) Unwrap() redis.UniversalClient { return u.UniversalClient }

func (s saysWhere) Options() *redis.Options { return s.options }

// As above, with a client that is wrapped, so that no connection of its own is to be had for a
// renewal, or only past the wrapper, and with a Cluster's.
func TestFault63HalfOpenPoolOfOtherClients(t *testing.T) {
	for name, wrap := range map[string]func(t *testing.T, v *virtual, n *nat) redis.UniversalClient{
		"unwraps": func(t *testing.T, v *virtual, n *nat) redis.UniversalClient {
			return unwraps{n.client(t, v)}
		},
		"nothing more is known": func(t *testing.T, v *virtual, n *nat) redis.UniversalClient {
			rdb := n.client(t, v)
			return saysWhere{rdb, rdb.Options()}
		},
		"embedded": func(t *testing.T, v *virtual, n *nat) redis.UniversalClient {
			return struct{ *redis.Client }{n.client(t, v)}
		},
		"cluster": func(t *testing.T, v *virtual, n *nat) redis.UniversalClient {
			return redistest.MiniClusterClient(t, v.mini, func(o *redis.ClusterOptions) { o.Dialer = n.through(o.Dialer) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				const lease, connections = 30 * time.Second, 8
				n := &nat{}
				rdb := wrap(t, v, n)
				hold, err := newClient(t, rdb, reentrant.WithLease(lease)).NewLock("l").Acquire(v.ctx)
				must(t, err)
				calls := make([]*pending, connections)
				v.onCommand(func(string, []string) string { time.Sleep(time.Millisecond); return "" })
				for i := range calls {
					calls[i] = begin(func() error { return rdb.Get(v.ctx, "l2").Err() })
				}
				for _, call := range calls {
					if err := call.wait(); err != redis.Nil {
						t.Fatal(err)
					}
				}
				v.onCommand(nil)
				if n := rdb.PoolStats().IdleConns; n < connections {
					t.Fatalf("%d connections are idle", n)
				}
				n.forget()
				for range 30 {
					v.pass(lease / 3)
					if ended(hold.Lost()) {
						t.Fatalf("lost: %v", locktest.ContextCause(hold))
					}
				}
			})
		})
	}
}

// Behind the same pool, a call costs at most one ReadTimeout, however many connections are dead.
func TestFault63HalfOpenPoolDelaysCallsOnce(t *testing.T) {
	for _, read := range []time.Duration{0, -1} {
		t.Run(fmt.Sprint(read), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				const timeout, sweep = 5 * time.Second, time.Second // go-redis' default, and ours
				n := &nat{}
				rdb := n.client(t, v, func(o *redis.Options) { o.ReadTimeout = read })
				c := newClient(t, rdb, reentrant.WithLease(30*time.Second))
				l := c.NewLock("l")
				must(t, l.Lock(v.ctx))
				must(t, l.Unlock(v.ctx))
				idle(t, rdb, 64)
				n.forget()
				began := time.Now()
				must(t, l.Lock(v.ctx))
				if took := time.Since(began); took > timeout+sweep+time.Second {
					t.Errorf("Lock took %v", took)
				}
				began = time.Now()
				must(t, l.Unlock(v.ctx)) // the dead ones have left the pool
				if took := time.Since(began); took > 0 {
					t.Errorf("Unlock took %v", took)
				}
				if dials := n.dials.Load(); dials > 64+8 {
					t.Errorf("%d connections", dials)
				}
			})
		})
	}
}

// ReadTimeout -1 and -2, and a silence of 500 ms in which every command vanishes: holders are told
// of each try that fails, a command under way ends, and later locks are taken and kept.
func TestFault64NoReadTimeout(t *testing.T) {
	for _, read := range []time.Duration{0, -1, -2} {
		for _, withCtx := range []bool{false, true} {
			t.Run(fmt.Sprint(read, withCtx), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *virtual) { testSilence(t, v, read, withCtx) })
			})
		}
	}
}

func testSilence(t *testing.T, v *virtual, read time.Duration, withCtx bool) {
	const lease = 600 * time.Millisecond
	n := &nat{}
	rdb := n.client(t, v, func(o *redis.Options) { o.ReadTimeout, o.ContextTimeoutEnabled = read, withCtx })
	h := &countingHook{}
	rdb.AddHook(h)
	var failed atomic.Int64
	c, err := reentrant.New(rdb, reentrant.WithLease(lease), reentrant.WithEvents(reentrant.Events{
		RenewFailed: func(reentrant.Event) { failed.Add(1) },
	}))
	must(t, err)
	hold, err := c.NewLock("held").Acquire(v.ctx)
	must(t, err)
	v.pass(150 * time.Millisecond)
	n.silent.Store(true)
	during := begin(func() error { return c.NewLock("during").Lock(reentrant.WithOwner(v.ctx, "during")) })
	v.pass(500 * time.Millisecond)
	n.silent.Store(false)
	if failed.Load() < 3 {
		t.Errorf("RenewFailed was called %d times in the silence", failed.Load())
	}
	<-hold.Lost() // the silence was too long for it

	began := time.Now()
	must(t, during.wait())
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the call in the silence took %v", took)
	}
	later, err := c.NewLock("later").Acquire(v.ctx)
	must(t, err)
	v.pass(20 * lease)
	if ended(later.Lost()) {
		t.Fatalf("lost: %v", locktest.ContextCause(later))
	}
	must(t, later.Release(v.ctx))
	// With -2 a connection past the pool is cut as soon as the pool has answered.
	if n, seen := int64(v.scripts()), h.answered.Load(); n != seen && (read != -2 || n < seen || seen == 0) {
		t.Errorf("%d scripts have reached Redis, the hook has seen %d", n, seen)
	}
	must(t, c.NewLock("during").Unlock(reentrant.WithOwner(v.ctx, "during")))
	ctx, cancel := context.WithTimeout(v.ctx, 10*time.Second)
	defer cancel()
	must(t, c.Close(ctx))
}

package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestLedger_16_ScriptFlush(t *testing.T) {
	test := func(t *testing.T, rdb *redis.Client, c, other *reentrant.Client) {
		ctx := context.Background()
		l := c.NewLock("job", reentrant.WithFencing())
		for what, call := range map[string]func() error{
			"lock and unlock": func() error {
				return errors.Join(l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Unlock(ctx))
			},
			"re-entry": func() error {
				return errors.Join(l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Unlock(ctx), l.Unlock(ctx))
			},
			"force and queries": func() error {
				must(t, l.Lock(ctx))
				must(t, rdb.ScriptFlush(ctx).Err())
				_, err := other.NewLock("job").TTL(ctx)
				freed, err2 := other.NewLock("job").ForceUnlock(ctx)
				if !freed {
					err2 = errors.New("not freed")
				}
				if e := l.Unlock(ctx); !errors.Is(e, reentrant.ErrLost) {
					t.Errorf("Unlock after ForceUnlock: %v", e)
				}
				return errors.Join(err, err2)
			},
			"busy, hand-over and wake-up": func() error {
				must(t, l.Lock(ctx))
				must(t, rdb.ScriptFlush(ctx).Err())
				if ok, err := other.NewLock("job").TryLock(ctx, 0, 0); ok || err != nil {
					t.Errorf("TryLock = %v, %v", ok, err)
				}
				var waiters []*pending
				for _, client := range []*reentrant.Client{c, c, other} {
					waiters = append(waiters, begin(func() error {
						return client.NewLock("job", reentrant.WithFencing()).Do(ctx, func(context.Context) error {
							return rdb.ScriptFlush(ctx).Err()
						})
					}))
				}
				must(t, rdb.ScriptFlush(ctx).Err())
				errs := []error{l.Unlock(ctx)}
				for _, w := range waiters {
					errs = append(errs, w.wait())
				}
				return errors.Join(errs...)
			},
		} {
			must(t, rdb.ScriptFlush(ctx).Err())
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	t.Run("server", func(t *testing.T) {
		s := redistest.Start(t)
		test(t, s.Client(t), newClient(t, s.Client(t)), newClient(t, s.Client(t)))
	})
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rdb := redistest.MiniClient(t, v.mini)
		test(t, rdb, v.client(), v.client())
		// And renewal, whose script is sent by nobody's call.
		c := v.client()
		must(t, c.NewLock("renewed").Lock(v.ctx))
		for range 20 {
			must(t, rdb.ScriptFlush(v.ctx).Err())
			v.pass(lease / 4)
		}
		if s := c.Stats(); s.RenewFailures != 0 || s.Losses != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

func TestLedger_24_BrokenConnections(t *testing.T) {
	s := redistest.Start(t)
	ctx := context.Background()
	holder := newClient(t, s.Client(t)).NewLock("job")
	must(t, holder.Lock(ctx))
	resubscribed := make(chan struct{}, 100)
	c := newClient(t, s.Client(t), reentrant.WithEvents(reentrant.Events{
		Resubscribed: func(reentrant.Event) { resubscribed <- struct{}{} },
	}))
	waiter := begin(func() error { return c.NewLock("job").Lock(reentrant.WithOwner(ctx, "waiter")) })
	for range 5 {
		redistest.Eventually(t, 10*time.Second, "a subscription", func() bool { return s.Info(t, "stats", "pubsub_channels") != "0" })
		s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		s.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		<-resubscribed
	}
	if waiter.over() {
		t.Fatalf("two holders: %v", waiter.err)
	}
	must(t, holder.Unlock(ctx))
	must(t, waiter.wait())
	must(t, c.NewLock("job").Unlock(reentrant.WithOwner(ctx, "waiter")))
	must(t, c.Close(ctx))
}

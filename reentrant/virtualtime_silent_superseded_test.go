package reentrant_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis is silent from 0.1 s on. A nested call leaves, its owner unlocks, and both commands get no answer.
// At 5.5 s a wait ends: nobody is known to hold the lock.
func TestTimeSilenceOutlastsAMootCommand(t *testing.T) {
	for limit := 1500 * time.Millisecond; limit < 8*time.Second; limit += 250 * time.Millisecond {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.ReadTimeout = 1900 * time.Millisecond })
			l := newClient(t, rdb, reentrant.WithLease(time.Minute)).NewLock("l")
			o := reentrant.WithOwner(v.ctx, "o")
			must(t, l.Lock(o))
			call := begin(func() error {
				ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), limit, 0)
				if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
					t.Errorf("limit %v: %v, %v, as if somebody had the lock", limit, ok, err)
				}
				return err
			})
			v.pass(100 * time.Millisecond)
			v.scriptsTake(time.Hour)
			ctx, cancel := context.WithTimeout(o, 400*time.Millisecond)
			defer cancel()
			if err := l.Lock(ctx); err == nil {
				t.Error("entered")
			}
			rel := begin(func() error { return l.Unlock(o) })
			_ = call.wait()
			v.onCommand(nil)
			_ = rel.wait()
		})
	}
}

// The reply to a force whose caller has left is lost, once, and Redis is sound. Somebody else has the lock at
// the end of a wait, as Redis has told.
func TestTimeOneLostReplyIsNoSilence(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("l").LockLease(v.ctx, time.Hour))
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		first, leave := context.WithCancel(reentrant.WithOwner(v.ctx, "first"))
		lead := begin(func() error { return l.Lock(first) })
		v.pass(9 * time.Second) // it polls every 4 or 5 s now
		call := begin(func() error {
			ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), 2*time.Second, 0)
			if ok || err != nil {
				t.Errorf("%v, %v: Redis has answered all the time", ok, err)
			}
			return err
		})
		v.pass(10 * time.Millisecond)
		ctx, cancel := context.WithCancel(v.ctx)
		var cut atomic.Int32
		v.mini.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
			if (cmd == "EVALSHA" || cmd == "EVAL") && cut.Add(1) == 1 {
				cancel()
				p.Close()
				return true
			}
			return false
		})
		if _, err := l.ForceUnlock(ctx); err == nil {
			t.Error("forced")
		}
		_ = call.wait()
		leave()
		_ = lead.wait()
	})
}

// D1: Redis is silent from 0.2 s on. A force gets no answer, then an attempt gets none.
func TestTimeSilenceOutlastsAForce(t *testing.T) {
	for limit := 1500 * time.Millisecond; limit < 8*time.Second; limit += 250 * time.Millisecond {
		t.Run(limit.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				must(t, v.client().NewLock("l").LockLease(v.ctx, time.Hour))
				rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.ReadTimeout = 1900 * time.Millisecond })
				l := newClient(t, rdb, reentrant.WithLease(time.Minute)).NewLock("l")
				call := begin(func() error {
					ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), limit, 0)
					if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
						t.Errorf("limit %v: %v, %v, as if somebody had the lock", limit, ok, err)
					}
					return err
				})
				v.pass(200 * time.Millisecond)
				v.scriptsTake(time.Hour)
				force := begin(func() error { _, err := l.ForceUnlock(v.ctx); return err })
				_ = call.wait()
				v.onCommand(nil)
				_ = force.wait()
			})
		})
	}
}

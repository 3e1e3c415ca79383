package reentrant_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// faultyHook panics in every other renewal, as a hook for metrics may that the user has
// put on the go-redis client.
type faultyHook struct {
	locktest.LateAnswer // its other hooks pass everything on
	renewals            *int
}

func (h faultyHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		var args []string
		for _, arg := range cmd.Args() {
			args = append(args, fmt.Sprint(arg))
		}
		if locktest.ScriptOf(args) == "renew" && strings.EqualFold(args[0], "EVALSHA") { // not the EVAL that follows the first
			if *h.renewals++; *h.renewals%2 == 1 {
				panic("a hook of the user's")
			}
		}
		return next(ctx, cmd)
	}
}

// A panic on the watchdog's way to Redis is a renewal that failed: it is counted and
// told, tried again, and costs nobody the lock.
func TestFault62PanicDuringARenewal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rdb := redistest.MiniClient(t, v.mini)
		renewals := 0
		rdb.AddHook(faultyHook{renewals: &renewals})
		var told []string
		c := newClient(t, rdb, reentrant.WithLease(lease), reentrant.WithEvents(reentrant.Events{
			RenewFailed: func(e reentrant.Event) { told = append(told, e.Err.Error()) },
		}))
		hold, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		for range 100 {
			v.pass(lease / 10)
			if v.ttl("job") < lease/3 {
				t.Fatalf("%v left", v.ttl("job"))
			}
		}
		s := c.Stats()
		if ended(hold.Lost()) || s.Losses > 0 || s.Renewals < 10 || s.RenewFailures < 10 || int(s.RenewFailures) != len(told) {
			t.Errorf("told %d times, %+v", len(told), s)
		}
		if len(told) > 0 && !strings.Contains(told[0], "a hook of the user's") {
			t.Errorf("told of %s", told[0])
		}
		must(t, hold.Release(v.ctx))
	})
}

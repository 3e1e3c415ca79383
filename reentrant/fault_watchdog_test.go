package reentrant_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// faultyHook panics in every other renewal, as a hook for metrics may that the user has
// put on the go-redis client.
type faultyHook struct {
	lateAnswer // its other hooks pass everything on
	renewals   *int
}

func (h faultyHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		var args []string
		for _, arg := range cmd.Args() {
			args = append(args, fmt.Sprint(arg))
		}
		if scriptOf(args) == "renew" && strings.EqualFold(args[0], "EVALSHA") { // not the EVAL that follows the first
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

// A panic in what the watchdog calls on its own goroutine, a function of Events, is not
// kept silent: it ends the program like any other. A watchdog that went on without its
// goroutine would renew nothing, and nobody would know.
func TestFault62PanicInAnEvent(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultPanickingChild$")
	child.Env = append(os.Environ(), "REDLATCH_PANIC_AT="+s.Addr())
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: in an event of the user's") {
		t.Errorf("the child ended with %v and said\n%s", err, out)
	}
	freeWithin(t, s, 10*time.Second, "l") // it is not renewed
}

// TestFaultPanickingChild is the program that ends.
func TestFaultPanickingChild(t *testing.T) {
	addr := os.Getenv("REDLATCH_PANIC_AT")
	if addr == "" {
		t.Skip("runs as a child only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	hold, err := faultClient(t, rdb, reentrant.WithLease(300*time.Millisecond), reentrant.WithEvents(reentrant.Events{
		Renewed: func(reentrant.Event) { panic("in an event of the user's") },
	})).NewLock("l").Acquire(t.Context())
	okay(t, err)
	inTime(t, 20*time.Second, "the panic", hold.Lost())
}

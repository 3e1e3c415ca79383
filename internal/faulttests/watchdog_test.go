package faulttests

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

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
	locktest.FreeWithin(t, s, 10*time.Second, "l") // it is not renewed
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
	must(t, err)
	locktest.InTime(t, 20*time.Second, "the panic", hold.Lost())
}

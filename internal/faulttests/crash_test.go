package faulttests

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

const crashLease = 2 * time.Second

// A process dies with the lock. Another has it when the lease is over, which no
// message tells it of; and not before the dead one's trust would have ended.
func TestFault43HolderCrashes(t *testing.T) {
	t.Parallel()
	noise := listenToNoise(t)
	s := redistest.Start(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultCrashingChild$")
	child.Env = append(os.Environ(), "REDLATCH_CRASH_AT="+s.Addr())
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	killed := false
	t.Cleanup(func() {
		if !killed {
			child.Process.Kill()
			child.Wait()
		}
	})
	c := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "locked" {
		t.Fatalf("the child said %q: %v", lines.Text(), lines.Err())
	}
	type grant struct {
		at  time.Time
		err error
	}
	taken := make(chan grant, 1)
	go func() {
		err := l.Lock(me)
		taken <- grant{time.Now(), err}
	}()
	// It is renewed as long as its process lives.
	alive := time.NewTimer(crashLease * 3 / 2)
	defer alive.Stop()
	var validUntil time.Time
	for running := true; running && lines.Scan(); {
		ns, err := strconv.ParseInt(lines.Text(), 10, 64)
		must(t, err)
		validUntil = time.Unix(0, ns)
		select {
		case <-alive.C:
			running = false
		case g := <-taken:
			t.Fatalf("taken from a process that lives: %v", g.err)
		default:
		}
	}
	must(t, child.Process.Kill())
	at := time.Now()
	killed = true
	child.Wait()
	g := locktest.InTime(t, 5*crashLease, "the waiter gets the lock", taken)
	must(t, g.err)
	t.Logf("taken over %v after the crash, %v after the dead process' trust ended", g.at.Sub(at), g.at.Sub(validUntil))
	// Two processes' wall clocks are one clock here.
	if g.at.Before(validUntil) {
		t.Errorf("taken over %v before the dead process would have given up", validUntil.Sub(g.at))
	}
	if d := g.at.Sub(at); d > noise.allow(crashLease+300*time.Millisecond) {
		t.Errorf("taken over %v after the crash", d)
	}
	// What ended the wait was the TTL that the dead one has left.
	if w := c.Stats().WakeUps; w.Message != 0 || w.TTL == 0 {
		t.Errorf("wake-ups %+v", w)
	}
	must(t, l.Unlock(me))
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}

// TestFaultCrashingChild is the process that dies. It reports until when it trusts
// its hold.
func TestFaultCrashingChild(t *testing.T) {
	addr := os.Getenv("REDLATCH_CRASH_AT")
	if addr == "" {
		t.Skip("runs as a child only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	hold, err := faultClient(t, rdb, reentrant.WithLease(crashLease)).NewLock("l").Acquire(t.Context())
	must(t, err)
	fmt.Println("locked")
	for {
		// A parent that is gone ends the loop: nobody reads what is written.
		if _, err := fmt.Println(hold.ValidUntil().UnixNano()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

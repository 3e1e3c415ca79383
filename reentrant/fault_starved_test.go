package reentrant_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

const starvedLease = 300 * time.Millisecond

// A process with one thread for a crowd of busy goroutines comes to its renewals late, or not at
// all, and reads answers long after they came. It never trusts the lock while another
// process has it. That it loses a hold shows that it was starved.
func TestFault07Starved(t *testing.T) {
	s := redistest.Start(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFault07StarvedChild$")
	child.Env = append(os.Environ(), "REDLATCH_STARVE_AT="+s.Addr(), "GOMAXPROCS=1")
	child.Stderr = testWriter{t}
	out, err := child.StdoutPipe()
	okay(t, err)
	okay(t, child.Start())
	waited := false
	t.Cleanup(func() {
		if !waited {
			child.Process.Kill()
			child.Wait()
		}
	})

	var hist tenures
	c := faultClient(t, s.Client(t), reentrant.WithLease(starvedLease))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		l, ctx := c.NewLock("l", reentrant.WithFencing()), owner(t.Context(), "me")
		for {
			select {
			case <-stop:
				return
			default:
			}
			hold, err := l.Acquire(ctx)
			if err != nil {
				t.Errorf("the other process: %v", err)
				return
			}
			end := hist.begin("other", hold)
			time.Sleep(3 * time.Millisecond)
			end()
			_ = hold.Release(ctx) // this process may be starved as well
		}
	}()
	starved, losses := 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		// Two processes' wall clocks are one clock here.
		var from, until, token int64
		var lost bool
		if n, _ := fmt.Sscanf(lines.Text(), "tenure %d %d %d %t", &from, &until, &token, &lost); n != 4 {
			continue
		}
		starved++
		if lost {
			losses++
		}
		hist.mu.Lock()
		hist.list = append(hist.list, tenure{"starved", time.Unix(0, from), time.Unix(0, until), token})
		hist.mu.Unlock()
	}
	close(stop)
	<-stopped
	waited = true
	okay(t, child.Wait())
	hist.trusted()
	hist.disjoint(t, "of lock l")
	t.Logf("%d tenures, %d of the starved process, which lost %d", hist.len(), starved, losses)
	if losses == 0 {
		t.Error("the process was not starved")
	}
	tidyWithin(t, s, 10*time.Second, "l")
}

// trusted leaves out the tenures that were over before their call had returned, and strips
// the readings of the monotonic clock, which another process does not have.
func (h *tenures) trusted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(h.list, func(x tenure) bool { return !x.until.After(x.from) })
	for i := range h.list {
		h.list[i].from, h.list[i].until = h.list[i].from.Round(0), h.list[i].until.Round(0)
	}
}

// TestFault07StarvedChild is the process that is starved. It reports each tenure: from when
// to when it trusted the lock.
func TestFault07StarvedChild(t *testing.T) {
	addr := os.Getenv("REDLATCH_STARVE_AT")
	if addr == "" {
		t.Skip("runs as a child only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	c := faultClient(t, rdb, reentrant.WithLease(starvedLease))
	l := c.NewLock("l", reentrant.WithFencing())
	var busy []*atomic.Bool
	fewer := func() {
		if n := len(busy) - 1; n >= 0 {
			busy[n].Store(true)
			busy = busy[:n]
		}
	}
	more := func() {
		stop := new(atomic.Bool)
		busy = append(busy, stop)
		go spin(stop)
	}
	for range 4 {
		more()
	}
	defer func() {
		for len(busy) > 0 {
			fewer()
		}
	}()
	ctx := owner(t.Context(), "me")
	// First some fixed leases, whose answers are read late; then as many busy goroutines as
	// let it get the lock, and keep it from renewing it.
	for fixed, lost := 3, false; fixed > 0 || !lost; fixed-- {
		var opts []reentrant.AcquireOption
		if fixed > 0 {
			opts = append(opts, reentrant.WithFixedLease(starvedLease))
		}
		hold, err := l.Acquire(ctx, opts...)
		if err != nil { // the answer was read too late
			fewer()
			continue
		}
		from := time.Now()
		for time.Since(from) < 2*starvedLease && !ended(hold.Lost()) {
			time.Sleep(10 * time.Millisecond)
		}
		until := time.Now()
		if v := hold.ValidUntil(); v.Before(until) {
			until = v
		}
		lost = fixed <= 0 && ended(hold.Lost())
		fmt.Printf("tenure %d %d %d %t\n", from.UnixNano(), until.UnixNano(), hold.Token(), lost)
		_ = hold.Release(ctx)
		if fixed <= 0 {
			for range 4 {
				more()
			}
		}
	}
}

// spin keeps a thread busy. It runs for 10 ms before it lets another goroutine have it.
func spin(stop *atomic.Bool) {
	for n := 0; !stop.Load(); n++ {
	}
}

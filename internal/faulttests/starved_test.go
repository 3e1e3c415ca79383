package faulttests

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
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
	must(t, err)
	must(t, child.Start())
	waited := false
	t.Cleanup(func() {
		if !waited {
			child.Process.Kill()
			child.Wait()
		}
	})

	var hist locktest.Tenures
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
			end := hist.Begin("other", hold)
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
		hist.Add("starved", time.Unix(0, from), time.Unix(0, until), token)
	}
	close(stop)
	<-stopped
	waited = true
	must(t, child.Wait())
	hist.Trusted()
	hist.Disjoint(t, "of lock l")
	t.Logf("%d tenures, %d of the starved process, which lost %d", hist.Len(), starved, losses)
	if losses == 0 {
		t.Error("the process was not starved")
	}
	locktest.TidyWithin(t, s, 10*time.Second, "l")
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

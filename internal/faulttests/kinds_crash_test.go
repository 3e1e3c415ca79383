package faulttests

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A process dies that holds a lock of each kind, is the writer that bars readers of another one, and the first in the line of a third.
// Its holds end with their leases, its barrier after 3 s, and its place in the line with the next release.
func TestFault43And59KindsProcessDies(t *testing.T) {
	t.Parallel()
	noise, s := listenToNoise(t), redistest.Start(t)
	c, other := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	barred, line := c.NewReadWriteLock("barred"), c.NewFairLock("line")
	must(t, barred.RLock(me))
	must(t, line.Lock(me))
	kill := startKindsChild(t, s)
	locktest.Read.Registered(t, s, "barred", 1)
	locktest.Fair.Registered(t, s, "line", 1)
	reader := inBackground(func() error { return other.NewReadWriteLock("barred").RLock(you) })
	redistest.Eventually(t, 10*time.Second, "the reader is barred", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{barred}:readers") == int64(1)
	})
	next := inBackground(func() error { return other.NewFairLock("line").Lock(you) })
	locktest.Fair.Registered(t, s, "line", 2)
	var all []*stand
	for _, k := range locktest.OtherKinds {
		st := &stand{Kind: k, name: "on " + k.Name, next: make(chan *reentrant.Hold, 1)}
		st.hasWaiter(t, s, c)
		all = append(all, st)
	}

	kill()
	died := time.Now()
	redistest.Eventually(t, 10*time.Second, "the dead is not subscribed", func() bool {
		return s.Info(t, "clients", "pubsub_clients") == "2" || len(s.Do(t, "PUBSUB", "CHANNELS", "redisson_lock__channel:{line}:*").([]any)) == 1
	})
	must(t, line.Unlock(me))
	must(t, locktest.InTime(t, 10*time.Second, "the next in the line has the lock", next))
	for _, st := range all {
		hold := locktest.InTime(t, 20*time.Second, st.Name+": the waiter has the lock", st.next)
		if d := time.Since(died); d > noise.allow(crashLease+time.Second) {
			t.Errorf("%s: taken over %v after the crash", st.Name, d)
		}
		must(t, hold.Release(locktest.AsWaiter(t)))
	}
	must(t, locktest.InTime(t, 20*time.Second, "the reader enters", reader))
	if d := time.Since(died); d > noise.allow(5*time.Second) {
		t.Errorf("the dead writer's barrier stood for %v", d)
	}
	must(t, barred.RUnlock(me))
	must(t, other.NewReadWriteLock("barred").RUnlock(you))
	must(t, other.NewFairLock("line").Unlock(you))
	wantTidy(t, s, append(all, &stand{name: "barred"}, &stand{name: "line"}))
}

// startKindsChild returns when the process has its locks. The function that it returns kills the process, and so does the test's end.
func startKindsChild(t *testing.T, s *redistest.Server) (kill func()) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultKindsChild$")
	child.Env = append(os.Environ(), "REDLATCH_KINDS_AT="+s.Addr())
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = child.Process.Kill()
			_ = child.Wait()
		}
	}
	t.Cleanup(kill)
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "locked" {
		t.Fatalf("the child said %q: %v", lines.Text(), lines.Err())
	}
	return kill
}

// TestFaultKindsChild is the process that dies.
func TestFaultKindsChild(t *testing.T) {
	addr := os.Getenv("REDLATCH_KINDS_AT")
	if addr == "" {
		t.Skip("runs as a child only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	c := faultClient(t, rdb, reentrant.WithLease(crashLease))
	for _, k := range locktest.OtherKinds {
		if k.Fixed > 0 {
			k.Fixed = crashLease
		}
		_, err := k.Acquire(asHolder(t), c, "on "+k.Name)
		must(t, err)
	}
	fmt.Println("locked")
	ctx, cancel := context.WithTimeout(asHolder(t), time.Minute) // a parent that is gone kills nobody
	defer cancel()
	barred := inBackground(func() error { return c.NewReadWriteLock("barred").Lock(ctx) })
	_ = c.NewFairLock("line").Lock(ctx)
	<-barred
}

// Services with other settings share both sides of a lock, and a fair one: other leases, readers first or not, another
// time in the line. They exclude each other, and nobody has lost anything.
func TestFault60KindsDifferentSettings(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	x, fair := &rwOracle{t: t}, 0 // fair is guarded by the fair lock
	done := make(chan error, 12)
	var clients []*reentrant.Client
	for i, opts := range [][]reentrant.Option{
		{reentrant.WithLease(3 * time.Second)},
		{reentrant.WithLease(time.Hour), locktest.WriteBehind},
		{reentrant.WithMaxHold(time.Minute), reentrant.WithQueueTimeout(time.Second)},
		{reentrant.WithPlainPubSub()},
	} {
		c := faultClient(t, s.Client(t), opts...)
		clients = append(clients, c)
		var of []reentrant.LockOption
		if i%2 == 1 {
			of = append(of, reentrant.WithReadersFirst())
		}
		rw, line, me := c.NewReadWriteLock("rw", of...), c.NewFairLock("line"), owner(t.Context(), "me")
		for _, work := range []func() error{
			func() error { return rw.Read().Do(me, func(context.Context) error { x.read(0); return nil }) },
			func() error {
				return rw.Write().Do(owner(t.Context(), "w"), func(context.Context) error { x.write(0); return nil })
			},
			func() error { return line.Do(me, func(context.Context) error { fair++; return nil }) },
		} {
			go func() {
				var err error
				for n := 0; n < 25 && err == nil; n++ {
					err = work()
				}
				done <- err
			}()
		}
	}
	for range cap(done) {
		must(t, locktest.InTime(t, 60*time.Second, "a call", done))
	}
	if x.reads.Load() != 100 || x.writes.Load() != 100 || fair != 100 {
		t.Errorf("%d reads, %d writes, %d in the line", x.reads.Load(), x.writes.Load(), fair)
	}
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
	}
	wantTidy(t, s, []*stand{{name: "rw"}, {name: "line"}})
}

package redlatchcron_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"

	redlatchcron "github.com/redlatch/redlatch/adapters/cron"
	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { nodes.Main(m, schedule) }

// schedule is a node: its scheduler calls job at every full second.
func schedule(ctx context.Context, s nodes.Spec, client *reentrant.Client, job func()) error {
	scheduler := cron.New(cron.WithSeconds())
	wrapper := redlatchcron.Exclusive(ctx, client.NewLock("report"), s.MinHold, cron.DiscardLogger)
	if _, err := scheduler.AddJob("* * * * * *", cron.NewChain(wrapper).Then(cron.FuncJob(job))); err != nil {
		return err
	}
	scheduler.Start()
	<-ctx.Done()
	<-scheduler.Stop().Done()
	return nil
}

const lease = 2 * time.Second

// A job that takes no time, on three nodes, runs once at each tick.
func TestEverySecond(t *testing.T) {
	t.Parallel()
	nodes.EverySecond(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease, MinHold: 900 * time.Millisecond}, 8)
}

func TestWithoutMinHold(t *testing.T) {
	t.Parallel()
	nodes.Twice(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease})
}

func TestTakesOver(t *testing.T) {
	t.Parallel()
	nodes.TakesOver(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease, MinHold: 900 * time.Millisecond})
}

func newClient(t *testing.T, rdb redis.UniversalClient) *reentrant.Client {
	t.Helper()
	client, err := reentrant.New(rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			t.Errorf("a lock was left: %v", err)
		}
	})
	return client
}

// record is a cron.Logger that keeps the last line.
type record struct{ line string }

func (r *record) Info(msg string, kv ...any) { r.line = fmt.Sprint("info ", msg, kv) }
func (r *record) Error(err error, msg string, kv ...any) {
	r.line = fmt.Sprint("error ", msg, kv)
	if errors.Is(err, reentrant.ErrLost) {
		r.line += " lost"
	}
}

// What the logger gets: a busy lock is no error, a Redis that is down is.
func TestLogger(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	lock, other := newClient(t, server.Client(t)).NewLock("report"), newClient(t, server.Client(t)).NewLock("report")
	var logged record
	job := redlatchcron.Exclusive(t.Context(), lock, 0, &logged)(cron.FuncJob(func() { t.Error("the job runs without the lock") }))

	hold, err := other.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job.Run()
	if !strings.HasPrefix(logged.line, "info skip[lock report") {
		t.Errorf("another machine has the lock: logged %q", logged.line)
	}
	if err := hold.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	job.Run()
	if logged.line != "error skip[lock report]" {
		t.Errorf("Redis is down: logged %q", logged.line)
	}
}

// The ctx of a run ends when the lock is lost.
func TestLoss(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	lock, other := newClient(t, rdb).NewLock("report"), newClient(t, rdb).NewLock("report")
	var logged record
	job := redlatchcron.JobFunc(func(ctx context.Context) {
		if freed, err := other.ForceUnlock(ctx); err != nil || !freed {
			t.Errorf("forced open: %t, %v", freed, err)
		}
		select {
		case <-ctx.Done(): // by a renewal
		case <-time.After(10 * time.Second):
			t.Error("no renewal has noticed the loss for ten seconds")
			return
		}
		if cause := context.Cause(ctx); !errors.Is(cause, reentrant.ErrLost) {
			t.Errorf("the ctx ends with %v", cause)
		}
	})
	redlatchcron.Exclusive(t.Context(), lock, 0, &logged)(job).Run()
	if logged.line != "error release[lock report] lost" {
		t.Errorf("logged %q", logged.line)
	}
}

// The program's ctx ends in a run, and the run panics: the lock is kept for the minimum hold, or free.
func TestEnd(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	client := newClient(t, rdb)
	for name, minHold := range map[string]time.Duration{"free": 0, "kept": time.Hour} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		job := redlatchcron.JobFunc(func(ctx context.Context) {
			runs++
			cancel()
			<-ctx.Done()
			panic("the job fails")
		})
		wrapped := cron.NewChain(cron.Recover(cron.DiscardLogger), redlatchcron.Exclusive(ctx, client.NewLock(name), minHold, cron.DiscardLogger)).Then(job)
		wrapped.Run()
		ttl := rdb.PTTL(t.Context(), name).Val()
		if minHold == 0 && ttl != -2 { // -2: no such key
			t.Errorf("the lock is kept for %v", ttl)
		}
		if minHold > 0 && (ttl < minHold-time.Minute || ttl > minHold) {
			t.Errorf("the lock is kept for %v, want nearly %v", ttl, minHold)
		}
		if wrapped.Run(); runs != 1 {
			t.Errorf("%d runs, the last after the end of the program's ctx", runs)
		}
	}
}

// A job without an Exclusive runs as ever.
func TestJobFunc(t *testing.T) {
	ran := false
	redlatchcron.JobFunc(func(ctx context.Context) { ran = ctx.Err() == nil }).Run()
	if !ran {
		t.Error("the job did not run")
	}
}

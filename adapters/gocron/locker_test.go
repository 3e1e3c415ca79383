package redlatchgocron_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	redlatchgocron "github.com/redlatch/redlatch/adapters/gocron"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

const reportLock = redlatchgocron.Prefix + "report"

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

// start runs a job once, at once, in a scheduler with the locker.
func start(t *testing.T, locker gocron.Locker, job any, opts ...gocron.JobOption) gocron.Scheduler {
	t.Helper()
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scheduler.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	opts = append(opts, gocron.WithName("report"))
	if _, err := scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(job), opts...); err != nil {
		t.Fatal(err)
	}
	scheduler.Start()
	return scheduler
}

// Shutdown ends the job's ctx, and gocron then unlocks with it: the lock is released, or kept for the minimum hold.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, minHold := range []time.Duration{0, time.Hour} {
		rdb := redistest.Start(t).Client(t)
		client := newClient(t, rdb)
		began := make(chan struct{})
		scheduler := start(t, redlatchgocron.NewLocker(client, minHold), func(ctx context.Context) {
			close(began)
			<-ctx.Done()
		})
		<-began
		if err := scheduler.Shutdown(); err != nil {
			t.Fatal(err)
		}
		ttl := rdb.PTTL(t.Context(), reportLock).Val()
		if minHold == 0 && ttl != -2 { // -2: no such key
			t.Errorf("the lock is not free after Shutdown, but kept for %v", ttl)
		}
		if minHold > 0 && (ttl < minHold-time.Minute || ttl > minHold) {
			t.Errorf("the lock is kept for %v, want nearly %v", ttl, minHold)
		}
		if held := client.Stats().Held; held != 0 {
			t.Errorf("%d locks are held after Shutdown", held)
		}
	}
}

// AfterLockError tells a busy lock from a Redis that does not answer.
func TestCauses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	locker := redlatchgocron.NewLocker(newClient(t, rdb), 0)
	refused := func() error {
		causes := make(chan error, 1)
		start(t, locker, func() { t.Error("the job runs without the lock") }, gocron.WithEventListeners(
			gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { causes <- err })))
		return <-causes
	}

	other := newClient(t, server.Client(t))
	hold, err := other.NewLock(reportLock).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var e *reentrant.NotAcquiredError
	if err := refused(); !errors.Is(err, reentrant.ErrBusy) || !errors.As(err, &e) || e.Holder != hold.Owner() {
		t.Errorf("another node has the lock: got %v", err)
	}
	if err := hold.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := refused(); errors.Is(err, reentrant.ErrBusy) || !errors.Is(err, reentrant.ErrNotAcquired) {
		t.Errorf("Redis is down: got %v", err)
	}
}

// The run's own ctx ends with the lock; a nested lock that is left behind does not keep the run's for ever.
func TestLoss(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	client := newClient(t, rdb)
	locker := redlatchgocron.NewLocker(client, 0)
	causes := make(chan error, 1)
	start(t, locker, func() {
		ctx := locker.Context("report")
		if err := client.NewLock(reportLock).Do(ctx, func(context.Context) error { return nil }); err != nil {
			t.Errorf("a nested call with the run's ctx: %v", err)
		}
		if freed, err := newClient(t, rdb).NewLock(reportLock).ForceUnlock(ctx); err != nil || !freed {
			t.Errorf("forced open: %t, %v", freed, err)
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
	})
	select {
	case cause := <-causes:
		if !errors.Is(cause, reentrant.ErrLost) {
			t.Errorf("the ctx of the run ends with %v", cause)
		}
	case <-time.After(free):
		t.Fatal("the run is not told of the loss")
	}
	redistest.Eventually(t, free, "the run has ended", func() bool {
		return errors.Is(context.Cause(locker.Context("report")), reentrant.ErrNotHeld)
	})
}

// A lock of another name than a lock can have is an error of its own.
func TestBadName(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	_, err := redlatchgocron.NewLocker(newClient(t, rdb), 0).Lock(t.Context(), "{a}{b}")
	if !errors.Is(err, reentrant.ErrInvalidName) {
		t.Errorf("got %v, want ErrInvalidName", err)
	}
}

// What the job has locked with the ctx of its run, and left, goes with its own release.
func TestNestedHoldIsLeft(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	client := newClient(t, rdb)
	locker := redlatchgocron.NewLocker(client, time.Hour)
	lock, err := locker.Lock(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	nested, err := client.NewLock(reportLock).Acquire(locker.Context("report"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Errorf("with a nested hold left: %v", err)
	}
	if err := nested.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if n := rdb.Exists(t.Context(), reportLock).Val(); n != 0 {
		t.Error("the lock is still there")
	}
}

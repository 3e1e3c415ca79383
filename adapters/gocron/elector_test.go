package redlatchgocron_test

import (
	"context"
	"errors"
	"testing"
	"time"

	redlatchgocron "github.com/redlatch/redlatch/adapters/gocron"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// One leads. When it closes, the other leads after the minimum hold.
func TestElector(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	const minHold = time.Second
	first := redlatchgocron.NewElector(newClient(t, rdb), "leader", minHold)
	second := redlatchgocron.NewElector(newClient(t, rdb), "leader", minHold)
	if cause := context.Cause(first.Context()); !errors.Is(cause, reentrant.ErrNotHeld) {
		t.Errorf("before the first tick its ctx has ended with %v", cause)
	}
	ended, end := context.WithCancel(t.Context())
	if err := first.IsLeader(ended); err != nil {
		t.Fatal(err)
	}
	lead := first.Context()
	end() // the ctx of a job
	if err := first.IsLeader(t.Context()); err != nil || lead.Err() != nil {
		t.Errorf("the lead ends with the ctx of a job: %v", err)
	}
	if err := second.IsLeader(t.Context()); !errors.Is(err, reentrant.ErrBusy) {
		t.Errorf("the second: got %v, want ErrBusy", err)
	}
	began := time.Now()
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(first.Close(t.Context()), second.Close(t.Context())); err != nil {
		t.Errorf("a second Close, and one without the lead: %v", err)
	}
	if err := first.IsLeader(t.Context()); !errors.Is(err, redlatchgocron.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	third := redlatchgocron.NewElector(newClient(t, rdb), "leader", 0)
	redistest.Eventually(t, free, "another one leads", func() bool { return third.IsLeader(t.Context()) == nil })
	if took := time.Since(began); took < minHold/2 { // the last tick was just before
		t.Errorf("another one leads %v after the last tick", took)
	}
	if err := third.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A leader that has lost the lock finds another one, and leads again when it can.
func TestElectorLoss(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	client, other := newClient(t, rdb), newClient(t, rdb).NewLock("leader")
	elector := redlatchgocron.NewElector(client, "leader", 0)
	if err := elector.IsLeader(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := elector.Context()
	if freed, err := other.ForceUnlock(t.Context()); err != nil || !freed {
		t.Fatal(freed, err)
	}
	hold, err := other.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done(): // by a renewal
	case <-time.After(10 * time.Second):
		t.Fatal("no renewal has noticed the loss for ten seconds")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, reentrant.ErrLost) {
		t.Errorf("its ctx ends with %v", cause)
	}
	if err := elector.IsLeader(t.Context()); !errors.Is(err, reentrant.ErrBusy) {
		t.Errorf("after the loss: got %v, want ErrBusy", err)
	}
	if err := errors.Join(hold.Release(t.Context()), elector.IsLeader(t.Context()), elector.Close(t.Context())); err != nil {
		t.Errorf("the lock is free again: %v", err)
	}
}

package leader_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/reentrant"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBubble plays in virtual time.
func inBubble(t *testing.T, play func(t *testing.T, r *redlatchtest.Redis)) {
	synctest.Test(t, func(t *testing.T) { play(t, redlatchtest.New(t)) })
}

// One leads. When it resigns another one does at once, and a process that goes on campaigning leads again.
func TestElection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		a, b := leader.New(r.Client().NewLock("l", reentrant.WithFencing())), leader.New(r.Client().NewLock("l", reentrant.WithFencing()))
		if a.IsLeader() {
			t.Error("leads before it campaigns")
		}
		must(t, a.Resign(t.Context()))
		first, err := a.Campaign(t.Context())
		must(t, err)
		if _, err := a.Campaign(t.Context()); !errors.Is(err, leader.ErrCampaigning) {
			t.Errorf("a second campaign: %v", err)
		}
		elected := make(chan *leader.Term, 1)
		go func() {
			term, err := b.Campaign(t.Context())
			if err != nil {
				t.Error(err)
			}
			elected <- term
		}()
		time.Sleep(10 * time.Minute)
		if !a.IsLeader() || b.IsLeader() || first.Context().Err() != nil {
			t.Fatalf("a %t, b %t, %v", a.IsLeader(), b.IsLeader(), first.Context().Err())
		}
		resigned := time.Now()
		must(t, a.Resign(t.Context()))
		second := <-elected
		if took := time.Since(resigned); took > 10*time.Millisecond {
			t.Errorf("b leads after %v", took)
		}
		if a.IsLeader() || !b.IsLeader() || context.Cause(first.Context()) != reentrant.ErrReleased || second.Token() <= first.Token() {
			t.Errorf("a %t, b %t, %v, tokens %d and %d", a.IsLeader(), b.IsLeader(), context.Cause(first.Context()), first.Token(), second.Token())
		}
		must(t, b.Resign(t.Context()))
		must(t, b.Resign(t.Context()))
	})
}

// Redis falls silent: IsLeader is false and the term's ctx ends when the lease is over, and not later. Another process leads
// after that, never before.
func TestNeverTwo(t *testing.T) {
	for name, trouble := range map[string]func(r *redlatchtest.Redis){
		"silence": func(r *redlatchtest.Redis) { r.Silence() },
		"refusal": func(r *redlatchtest.Redis) { r.Refuse("LOADING Redis is loading the dataset in memory") },
		"loss":    func(r *redlatchtest.Redis) { r.Lose("l") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
				const lease = 30 * time.Second
				a := leader.New(r.Client(reentrant.WithLease(lease)).NewLock("l"))
				term, err := a.Campaign(t.Context())
				must(t, err)
				time.Sleep(time.Minute)
				trouble(r)
				began := time.Now()
				<-term.Context().Done()
				if a.IsLeader() {
					t.Error("the ctx has ended, and it leads")
				}
				if took := time.Since(began); took > lease {
					t.Errorf("told after %v", took)
				}
				if cause := context.Cause(term.Context()); !errors.Is(cause, reentrant.ErrLost) {
					t.Errorf("cause %v", cause)
				}
				r.Answer()
				again, err := a.Campaign(t.Context()) // the lost term is over
				must(t, err)
				if !a.IsLeader() || again.Context().Err() != nil {
					t.Error("does not lead again")
				}
				must(t, a.Resign(t.Context()))
			})
		})
	}
}

// Run serves, is told of a loss, and serves again; it ends with what lead returns.
func TestRun(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		lock := r.Client().NewLock("l")
		done := errors.New("done")
		terms := 0
		err := leader.Run(t.Context(), lock, func(ctx context.Context) error {
			terms++
			redlatchtest.RequireHeld(t, lock)
			if terms == 3 {
				return done
			}
			r.Lose("l")
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, done) || errors.Is(err, reentrant.ErrLost) || terms != 3 {
			t.Errorf("%v after %d terms", err, terms)
		}
		redlatchtest.RequireFree(t, lock)
	})
}

// Redis is away when the campaign begins, and comes back.
func TestRunWaitsForRedis(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		r.Refuse("LOADING Redis is loading the dataset in memory")
		time.AfterFunc(10*time.Minute, r.Answer)
		began, led := time.Now(), false
		must(t, leader.Run(t.Context(), r.Client().NewLock("l"), func(context.Context) error { led = true; return nil }))
		if took := time.Since(began); !led || took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("led %t after %v", led, took)
		}
	})
}

// ctx ends: while it waits, while it leads, and before it begins.
func TestRunEndsWithCtx(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		release := r.HoldByAnother("l")
		lock := r.Client().NewLock("l")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := leader.Run(ctx, lock, func(context.Context) error { return errors.New("led") }); !errors.Is(err, context.Canceled) {
			t.Errorf("while it waits: %v", err)
		}
		if err := leader.Run(ctx, lock, func(context.Context) error { return errors.New("led") }); !errors.Is(err, context.Canceled) {
			t.Errorf("before it begins: %v", err)
		}
		release()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := leader.Run(ctx, lock, func(ctx context.Context) error {
			<-ctx.Done()
			redlatchtest.RequireHeld(t, lock) // until lead returns
			return nil
		})
		must(t, err)
		redlatchtest.RequireFree(t, lock)
	})
}

// A panic of lead goes on, and the lock is free.
func TestRunPanics(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		lock := r.Client().NewLock("l")
		func() {
			defer func() {
				if recover() != "no" {
					t.Error("the panic is gone")
				}
			}()
			_ = leader.Run(t.Context(), lock, func(context.Context) error { panic("no") })
		}()
		redlatchtest.RequireFree(t, lock)
	})
}

// What another try cannot mend ends Run.
func TestRunGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		c := r.Client()
		never := func(context.Context) error { t.Error("led"); return nil }
		if err := leader.Run(t.Context(), c.NewLock("{"), never); !errors.Is(err, reentrant.ErrInvalidName) {
			t.Errorf("a bad name: %v", err)
		}
		if err := leader.Run(t.Context(), c.NewLock("l").With(reentrant.WithFixedLease(-1)), never); !errors.Is(err, reentrant.ErrInvalidLease) {
			t.Errorf("a bad lease: %v", err)
		}
		release := r.HoldByAnother("busy")
		defer release()
		if err := leader.Run(t.Context(), c.NewLock("busy").With(reentrant.WithWait(time.Second)), never); !errors.Is(err, reentrant.ErrBusy) {
			t.Errorf("busy: %v", err)
		}
		must(t, c.Close(t.Context()))
		if err := leader.Run(t.Context(), c.NewLock("l"), never); !errors.Is(err, reentrant.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// Observe tells of each change.
func TestObserve(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		one, two := r.Client(reentrant.WithClientName("one")), r.Client(reentrant.WithClientName("two"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var seen atomic.Pointer[reentrant.Party]
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for party, err := range leader.New(r.Client().NewLock("l")).Observe(ctx, time.Second) {
				if err != nil {
					t.Error(err)
				}
				seen.Store(&party)
			}
		}()
		sees := func(id string) {
			t.Helper()
			time.Sleep(3 * time.Second)
			if p := seen.Load(); p == nil || p.Client != id {
				t.Fatalf("%v, want %q", p, id)
			}
		}
		sees("")
		for _, c := range []*reentrant.Client{one, two} {
			e := leader.New(c.NewLock("l"))
			_, err := e.Campaign(t.Context())
			must(t, err)
			sees(c.ID())
			party, ok, err := e.Leader(t.Context())
			if must(t, err); !ok || !party.Here || party.Name == "" {
				t.Errorf("%+v, %t", party, ok)
			}
			must(t, e.Resign(t.Context()))
			sees("")
		}
		cancel()
		<-ended
	})
}

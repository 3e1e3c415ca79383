package leader_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/reentrant"
)

// lead returns while its ctx goes on, and only the release finds that the lock is lost: Run does not call it a second time.
func TestRunReturnsBeforeItHearsOfTheLoss(t *testing.T) {
	for name, want := range map[string]error{"nil": nil, "an error": errors.New("done")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
				terms := 0
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := leader.Run(ctx, r.Client().NewLock("l"), func(ctx context.Context) error {
					if terms++; terms > 1 {
						cancel()
						return nil
					}
					r.Lose("l")
					if ctx.Err() != nil {
						t.Fatal("told already")
					}
					return want
				})
				if terms != 1 || !errors.Is(err, reentrant.ErrLost) || want != nil && !errors.Is(err, want) {
					t.Errorf("%v after %d terms", err, terms)
				}
			})
		})
	}
}

// The lock is lost, and ctx ends while lead winds up: lead's error is not dropped.
func TestRunEndsWithCtxAfterALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		unsaved := errors.New("unsaved")
		ctx, cancel := context.WithCancel(t.Context())
		err := leader.Run(ctx, r.Client().NewLock("l"), func(ctx context.Context) error {
			r.Lose("l")
			<-ctx.Done()
			cancel()
			return unsaved
		})
		if !errors.Is(err, unsaved) || !errors.Is(err, reentrant.ErrLost) {
			t.Error(err)
		}
	})
}

// Each kind of lock elects one, but for the reading side, which would elect all.
func TestKinds(t *testing.T) {
	for name, kind := range map[string]func(*reentrant.Client) *reentrant.Lock{
		"plain": func(c *reentrant.Client) *reentrant.Lock { return c.NewLock("l") },
		"fair":  func(c *reentrant.Client) *reentrant.Lock { return c.NewFairLock("l") },
		"write": func(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("l").Write() },
		"fixed": func(c *reentrant.Client) *reentrant.Lock {
			return c.NewLock("l").With(reentrant.WithFixedLease(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
				a, b := leader.New(kind(r.Client())), leader.New(kind(r.Client()))
				_, err := a.Campaign(t.Context())
				must(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := b.Campaign(ctx); !errors.Is(err, reentrant.ErrBusy) || !a.IsLeader() || b.IsLeader() {
					t.Errorf("a %t, b %t, %v", a.IsLeader(), b.IsLeader(), err)
				}
				party, ok, err := b.Leader(t.Context())
				if must(t, err); !ok || party.Here {
					t.Errorf("%+v, %t", party, ok)
				}
				must(t, a.Resign(t.Context()))
				_, err = b.Campaign(t.Context())
				must(t, err)
				must(t, b.Resign(t.Context()))
			})
		})
	}
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		read := r.Client().NewReadWriteLock("l").Read()
		if _, err := leader.New(read).Campaign(t.Context()); !errors.Is(err, reentrant.ErrInvalidOption) {
			t.Errorf("the reading side: %v", err)
		}
		if err := leader.Run(t.Context(), read, func(context.Context) error { return nil }); !errors.Is(err, reentrant.ErrInvalidOption) {
			t.Errorf("the reading side: %v", err)
		}
	})
}

// A term with an end of its own, by a fixed lease or by WithMaxHold: lead is told, another process leads, and Run campaigns again.
func TestTermsWithAnEnd(t *testing.T) {
	for name, play := range map[string]struct {
		client []reentrant.Option
		lock   []reentrant.AcquireOption
		most   time.Duration // of a term
	}{
		"fixed lease": {lock: []reentrant.AcquireOption{reentrant.WithFixedLease(time.Minute)}, most: time.Minute},
		"max hold":    {client: []reentrant.Option{reentrant.WithMaxHold(time.Minute)}, most: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var terms [2]int // each written by one goroutine
				ended := make(chan error)
				for i := range terms {
					go func() {
						lock := r.Client(play.client...).NewLock("l").With(play.lock...)
						ended <- leader.Run(ctx, lock, func(ctx context.Context) error {
							began := time.Now()
							terms[i]++
							<-ctx.Done()
							if d := time.Since(began); d > play.most {
								t.Errorf("a term of %v", d)
							}
							return ctx.Err()
						})
					}()
				}
				for range terms {
					if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
				if terms[0] < 10 || terms[1] < 10 {
					t.Errorf("%d terms", terms)
				}
			})
		})
	}
}

// The Client is closed under a leader: it does not lead, and Run ends.
func TestClosedWhileLeading(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		c := r.Client()
		e := leader.New(c.NewLock("other"))
		term, err := e.Campaign(t.Context())
		must(t, err)
		terms := 0
		err = leader.Run(t.Context(), c.NewLock("l"), func(ctx context.Context) error {
			terms++
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_ = c.Close(ended) // does not wait for the holds
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, reentrant.ErrClosed) || terms != 1 {
			t.Errorf("%v after %d terms", err, terms)
		}
		if e.IsLeader() || !errors.Is(context.Cause(term.Context()), reentrant.ErrClosed) {
			t.Errorf("leads %t, %v", e.IsLeader(), context.Cause(term.Context()))
		}
		if _, err := e.Campaign(t.Context()); !errors.Is(err, reentrant.ErrClosed) {
			t.Error(err)
		}
		if err := e.Resign(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// lead ends its goroutine, as t.FailNow does: Run resigns.
func TestRunGoexit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		lock := r.Client().NewLock("l")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = leader.Run(t.Context(), lock, func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-ended
		redlatchtest.RequireFree(t, lock)
	})
}

// Resign does not end a campaign, and the campaign's ctx does. Campaigns and resignations at once leave nothing behind.
func TestResignWhileItCampaigns(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		release := r.HoldByAnother("l")
		lock := r.Client().NewLock("l")
		e := leader.New(lock)
		ctx, cancel := context.WithCancel(t.Context())
		campaign := make(chan error)
		go func() {
			_, err := e.Campaign(ctx)
			campaign <- err
		}()
		time.Sleep(time.Minute)
		must(t, e.Resign(t.Context()))
		if _, err := e.Campaign(t.Context()); !errors.Is(err, leader.ErrCampaigning) {
			t.Error(err)
		}
		cancel()
		if err := <-campaign; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		release()

		ended := make(chan struct{})
		for range 8 {
			go func() {
				for range 100 {
					_, err := e.Campaign(t.Context())
					if err != nil && !errors.Is(err, leader.ErrCampaigning) {
						t.Error(err)
					}
					if err := e.Resign(t.Context()); err != nil {
						t.Error(err)
					}
				}
				ended <- struct{}{}
			}()
		}
		for range 8 {
			<-ended
		}
		redlatchtest.RequireFree(t, lock)
	})
}

// The leader does not lead from the call of Resign on, though Redis is slow to take the release.
func TestResignedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		e := leader.New(r.Client().NewLock("l"))
		_, err := e.Campaign(t.Context())
		must(t, err)
		r.Slow(100 * time.Millisecond)
		resigned := make(chan error)
		go func() { resigned <- e.Resign(t.Context()) }()
		synctest.Wait()
		if e.IsLeader() {
			t.Error("leads while it resigns")
		}
		must(t, <-resigned)
	})
}

// The ctx of a campaign ends while the term lasts: the process does not lead, and nobody else does until it resigns.
func TestCtxOfTheTermEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *redlatchtest.Redis) {
		lock := r.Client().NewLock("l")
		e := leader.New(lock)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := e.Campaign(ctx)
		must(t, err)
		cancel()
		if e.IsLeader() {
			t.Error("leads after its ctx")
		}
		time.Sleep(time.Hour)
		redlatchtest.RequireHeld(t, lock)
		if _, err := e.Campaign(t.Context()); !errors.Is(err, leader.ErrCampaigning) {
			t.Error(err)
		}
		must(t, e.Resign(ctx))
		redlatchtest.RequireFree(t, lock)
	})
}

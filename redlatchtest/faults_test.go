package redlatchtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

func nothing(context.Context) error { return nil }

// Refused or silent, Redis is not busy, and works again when it answers.
func TestTroubleIsNotBusy(t *testing.T) {
	for name, trouble := range map[string]func(r *Redis){
		"Refuse":  func(r *Redis) { r.Refuse("LOADING Redis is loading the dataset in memory") },
		"Silence": (*Redis).Silence,
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				r := New(t)
				lock := r.Client().NewLock("order:42")
				trouble(r)
				ok, err := lock.TryLock(t.Context(), 0, 0)
				if ok || !errors.Is(err, reentrant.ErrNotAcquired) || errors.Is(err, reentrant.ErrBusy) {
					t.Errorf("TryLock: %v, %v", ok, err)
				}
				r.Answer()
				must(t, lock.Do(t.Context(), nothing))
			})
		})
	}
}

// A hold that cannot be renewed is lost when its lease is over, and no later.
func TestTroubleLosesLocks(t *testing.T) {
	for name, trouble := range map[string]func(r *Redis){
		"Refuse":  func(r *Redis) { r.Refuse("LOADING Redis is loading the dataset in memory") },
		"Silence": (*Redis).Silence,
		"Slow":    func(r *Redis) { r.Slow(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				r := New(t)
				start := time.Now()
				hold, err := r.Client(brief).NewLock("order:42").Acquire(t.Context())
				must(t, err)
				trouble(r)
				<-hold.Lost()
				if d := time.Since(start); d < time.Second/2 {
					t.Errorf("told after %v", d)
				}
				r.Answer()
				if err := hold.Release(t.Context()); !errors.Is(err, reentrant.ErrLost) {
					t.Errorf("Release: %v", err)
				}
			})
		})
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		must(t, lock.Do(t.Context(), nothing)) // and Redis knows the scripts
		r.Slow(300 * time.Millisecond)
		start := time.Now()
		must(t, lock.Do(t.Context(), nothing))
		if d := time.Since(start); d != 600*time.Millisecond {
			t.Errorf("two commands took %v", d)
		}
		r.Answer()
		start = time.Now()
		must(t, lock.Do(t.Context(), nothing))
		if d := time.Since(start); d != 0 {
			t.Errorf("two commands took %v when Redis was quick again", d)
		}
	})
}

// Redis has given the lock to a caller that has left by then: it is given back.
func TestGrantComesTooLate(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		r.DelayGrants(300 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := lock.Lock(ctx); !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("Lock: %v", err)
		}
		r.Answer()
		must(t, lock.Do(t.Context(), nothing))
		RequireFree(t, lock)
	})
}

// A grant is late by exactly that, from an answer as well as from the message of a release.
func TestDelayGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		must(t, lock.Do(t.Context(), nothing))
		r.DelayGrants(700 * time.Millisecond)
		start := time.Now()
		must(t, lock.Do(t.Context(), func(context.Context) error {
			if d := time.Since(start); d != 700*time.Millisecond {
				t.Errorf("granted after %v", d)
			}
			return nil
		}))
		if d := time.Since(start); d != 700*time.Millisecond {
			t.Errorf("the release, too, has taken %v", d-700*time.Millisecond)
		}
		r.Answer()

		for _, late := range []time.Duration{200 * time.Millisecond, 0} {
			release := r.HoldByAnother("order:42")
			granted := make(chan time.Time, 1)
			go lock.Do(t.Context(), func(context.Context) error {
				granted <- time.Now()
				return nil
			})
			time.Sleep(time.Second / 2) // and the waiter has registered
			if late > 0 {
				r.DelayGrants(late)
			}
			start = time.Now()
			release()
			if d := (<-granted).Sub(start); d != late {
				t.Errorf("the message of a release has granted the lock after %v, want %v", d, late)
			}
			r.Answer()
			synctest.Wait()
		}
	})
}

// Each kind of lock asks by a script of its own.
func TestDelayGrantsOfKinds(t *testing.T) {
	for name, kind := range map[string]func(c *reentrant.Client) *reentrant.Lock{
		"plain": func(c *reentrant.Client) *reentrant.Lock { return c.NewLock("order:42") },
		"fair":  func(c *reentrant.Client) *reentrant.Lock { return c.NewFairLock("order:42") },
		"read":  func(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("order:42").Read() },
		"write": func(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("order:42").Write() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(t)
				lock := kind(r.Client())
				must(t, lock.Do(t.Context(), nothing)) // Redis knows the scripts
				r.DelayGrants(100 * time.Millisecond)
				start := time.Now()
				must(t, lock.Do(t.Context(), nothing))
				if d := time.Since(start); d != 100*time.Millisecond {
					t.Errorf("granted after %v", d)
				}
			})
		})
	}
}

// Replies are lost as often as told, after their commands have run: the library finds out what it has.
func TestDropReplies(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		r.DropReplies(1)
		must(t, lock.Lock(t.Context()))
		RequireHeld(t, lock)
		r.DropReplies(2)
		must(t, lock.Unlock(t.Context()))
		RequireFree(t, lock)
		must(t, lock.Do(t.Context(), nothing))
	})
}

// The last fault is in force, and no other.
func TestLastFaultCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		must(t, lock.Do(t.Context(), nothing))
		r.DropReplies(100)
		r.DelayGrants(time.Minute)
		r.Slow(time.Minute)
		r.Silence()
		r.Refuse("ERR out of order")
		if ok, err := lock.TryLock(t.Context(), 0, 0); ok || err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("TryLock: %v, %v", ok, err)
		}
		r.Slow(100 * time.Millisecond)
		start := time.Now()
		must(t, lock.Do(t.Context(), nothing))
		if d := time.Since(start); d != 200*time.Millisecond {
			t.Errorf("two commands took %v", d)
		}
	})
}

// A command whose reply is dropped has run: it has issued a fencing token, although the single attempt has failed.
func TestDroppedCommandHasRun(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		r.DropReplies(1)
		lock := r.Client().NewLock("order:42", reentrant.WithFencing())
		if ok, err := lock.TryLock(t.Context(), 0, 0); ok || err == nil {
			t.Errorf("TryLock: %v, %v, want an error", ok, err)
		}
		if !r.mini.Exists("redisson_lock_token:{order:42}") {
			t.Error("the script has not run")
		}
	})
}

func TestDropNoReplies(t *testing.T) {
	t.Parallel()
	if got := whatIsWrong(t, func(t testing.TB) { New(t).DropReplies(0) }); got == "" {
		t.Error("the test is not told")
	}
}

func TestRestartKeeps(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		must(t, lock.Lock(t.Context()))
		r.Restart(true)
		RequireHeld(t, lock)
		must(t, lock.Unlock(t.Context()))
	})
}

// The holder is told by its renewal. A release at once could not tell: it meets a connection that is closed, is sent
// again, and finds what the first one would have left.
func TestRestartForgets(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		hold, err := r.Client(brief).NewLock("order:42").Acquire(t.Context())
		must(t, err)
		r.Restart(false)
		RequireFree(t, r.Client().NewLock("order:42"))
		<-hold.Lost()
		if err := hold.Release(t.Context()); !errors.Is(err, reentrant.ErrLost) {
			t.Errorf("Release: %v", err)
		}
	})
}

// Over a restart that keeps the locks a hold is renewed.
func TestRenewedOverRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		hold, err := r.Client().NewLock("order:42").Acquire(t.Context())
		must(t, err)
		for range 10 {
			r.Restart(true)
			time.Sleep(time.Minute)
		}
		must(t, hold.Release(t.Context()))
	})
}

// A restart ends connections.
func TestRestartDisconnects(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		sub := r.RedisClient().Subscribe(t.Context(), "news")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		must(t, err)
		r.Restart(true)
		if m, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); !errors.Is(err, io.EOF) {
			t.Errorf("a subscriber receives %v, %v", m, err)
		}
	})
}

// A waiter whose subscription a restart has ended gets the lock all the same.
func TestRestartUnderWaiter(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		c := r.Client()
		release := r.HoldByAnother("order:42")
		waiter := make(chan error)
		go func() { waiter <- c.NewLock("order:42").Do(t.Context(), nothing) }()
		for c.Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		r.Restart(true)
		release()
		must(t, <-waiter)
	})
}

func TestExpire(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		hold, err := r.Client(brief).NewLock("order:42").Acquire(t.Context())
		must(t, err)
		r.Expire(time.Minute)
		RequireFree(t, r.Client().NewLock("order:42"))
		<-hold.Lost()
	})
}

// Code that makes its Client itself meets the same Redis, and its faults.
func TestRedisClient(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		c, err := reentrant.New(r.RedisClient())
		must(t, err)
		release := r.HoldByAnother("order:42")
		if ok, err := c.NewLock("order:42").TryLock(t.Context(), 0, 0); ok || err != nil {
			t.Errorf("TryLock: %v, %v, want busy", ok, err)
		}
		release()
		r.Refuse("ERR out of order")
		if ok, err := c.NewLock("order:42").TryLock(t.Context(), 0, 0); ok || err == nil {
			t.Errorf("TryLock: %v, %v, want an error", ok, err)
		}
		r.Answer()
		must(t, c.Close(t.Context()))
	})
}

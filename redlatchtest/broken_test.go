package redlatchtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// funcs is a Locker made of functions.
type funcs struct {
	lock    func(ctx context.Context) error
	tryLock func(ctx context.Context, wait, lease time.Duration) (bool, error)
	unlock  func(ctx context.Context) error
	do      func(ctx context.Context, fn func(context.Context) error) error
}

func (f funcs) Lock(ctx context.Context) error { return f.lock(ctx) }
func (f funcs) TryLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	return f.tryLock(ctx, wait, lease)
}
func (f funcs) Unlock(ctx context.Context) error { return f.unlock(ctx) }
func (f funcs) Do(ctx context.Context, fn func(context.Context) error) error {
	return f.do(ctx, fn)
}

// mistakes are made in a Locker that is right in all else. Each names the checks that have to find it.
var mistakes = []struct {
	name  string
	found []string
	make  func(l *reentrant.Lock, f *funcs)
}{
	{"Unlock frees nothing", []string{"free"}, func(_ *reentrant.Lock, f *funcs) {
		f.unlock = func(context.Context) error { return nil }
	}},
	{"Do calls nothing", []string{"free"}, func(_ *reentrant.Lock, f *funcs) {
		f.do = func(context.Context, func(context.Context) error) error { return nil }
	}},
	{"all goroutines are one owner", []string{"exclusion", "Unlock by another"}, asOneOwner},
	{"Do does not lock", []string{"exclusion"}, func(_ *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
	}},
	{"who waits polls each minute", []string{"nobody waits for a lease"}, polling},
	{"the lease is fixed", []string{"renewal"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error { return l.LockLease(ctx, 30*time.Second) }
	}},
	{"an owner does not enter again", []string{"reentry"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error {
			if held, _ := l.IsHeld(ctx); held {
				return errors.New("held already")
			}
			return l.Lock(ctx)
		}
	}},
	{"an owner waits for itself", []string{"reentry"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error {
			if held, _ := l.IsHeld(ctx); held {
				<-ctx.Done()
				return ctx.Err()
			}
			return l.Lock(ctx)
		}
	}},
	{"an inner Unlock frees the lock", []string{"reentry"}, func(l *reentrant.Lock, f *funcs) {
		f.unlock = func(ctx context.Context) error {
			err := l.Unlock(ctx)
			for l.Unlock(ctx) == nil {
			}
			return err
		}
	}},
	{"the ctx of Do enters nothing", []string{"reentry by ctx"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			return l.Do(reentrant.WithNewOwner(ctx), fn)
		}
	}},
	{"busy is an error", []string{"busy"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, wait, lease time.Duration) (bool, error) {
			ok, err := l.TryLock(ctx, wait, lease)
			if !ok && err == nil {
				err = reentrant.ErrBusy
			}
			return ok, err
		}
	}},
	{"TryLock always says yes", []string{"busy"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, wait, lease time.Duration) (bool, error) {
			_, err := l.TryLock(ctx, wait, lease)
			return true, err
		}
	}},
	{"TryLock does not wait", []string{"wait"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, _, lease time.Duration) (bool, error) { return l.TryLock(ctx, 0, lease) }
	}},
	{"TryLock waits for ever", []string{"busy", "wait"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, _, _ time.Duration) (bool, error) {
			err := l.Lock(ctx)
			return err == nil, err
		}
	}},
	{"Lock does not look at ctx", []string{"ctx ends the wait"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error { return l.Lock(context.WithoutCancel(ctx)) }
	}},
	{"TryLock is busy when ctx ends", []string{"ctx ends the wait", "ended ctx"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, wait, lease time.Duration) (bool, error) {
			ok, err := l.TryLock(ctx, wait, lease)
			if ctx.Err() != nil {
				err = nil
			}
			return ok, err
		}
	}},
	{"Do calls its function without the lock", []string{"ctx ends the wait", "ended ctx"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			err := l.Do(ctx, fn)
			if errors.Is(err, reentrant.ErrNotAcquired) {
				return errors.Join(err, fn(ctx))
			}
			return err
		}
	}},
	{"an ended ctx takes the lock", []string{"ended ctx"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error {
			if ok, err := l.TryLock(context.WithoutCancel(ctx), 0, 0); ok || err != nil {
				return err
			}
			return l.Lock(ctx)
		}
	}},
	{"a call that has left takes the lock", []string{"nothing is left of a wait"}, func(l *reentrant.Lock, f *funcs) {
		f.lock = func(ctx context.Context) error {
			err := l.Lock(ctx)
			if ctx.Err() != nil {
				go l.Lock(context.WithoutCancel(ctx)) // the mistake
			}
			return err
		}
	}},
	{"an outage is busy", []string{"outage"}, func(l *reentrant.Lock, f *funcs) {
		f.tryLock = func(ctx context.Context, wait, lease time.Duration) (bool, error) {
			ok, err := l.TryLock(ctx, wait, lease)
			if ctx.Err() == nil {
				err = nil
			}
			return ok, err
		}
	}},
	{"anybody may unlock", []string{"Unlock by another", "loss shows at Unlock"}, func(l *reentrant.Lock, f *funcs) {
		f.unlock = func(ctx context.Context) error {
			if err := l.Unlock(ctx); err == nil {
				return nil
			}
			freed, err := l.ForceUnlock(ctx)
			if err == nil && !freed {
				err = reentrant.ErrNotHeld
			}
			return err
		}
	}},
	{"Unlock tells no error", []string{"Unlock by another", "Unlock without Lock", "loss shows at Unlock"}, func(l *reentrant.Lock, f *funcs) {
		f.unlock = func(ctx context.Context) error {
			_ = l.Unlock(ctx)
			return nil
		}
	}},
	{"the function does not hear of a loss", []string{"loss ends Do"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			return l.Do(ctx, func(context.Context) error { return fn(ctx) })
		}
	}},
	{"Do does not tell of a loss", []string{"loss ends Do"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			err := l.Do(ctx, fn)
			if errors.Is(err, reentrant.ErrLost) {
				return nil
			}
			return err
		}
	}},
	{"Do swallows the error", []string{"error of fn"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			return l.Do(ctx, func(ctx context.Context) error {
				_ = fn(ctx)
				return nil
			})
		}
	}},
	{"an error keeps the lock", []string{"error of fn"}, byLock(func(l *reentrant.Lock, ctx context.Context, fn func(context.Context) error) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return l.Unlock(ctx)
	})},
	{"a panic keeps the lock", []string{"panic in fn"}, byLock(func(l *reentrant.Lock, ctx context.Context, fn func(context.Context) error) error {
		return errors.Join(fn(ctx), l.Unlock(ctx))
	})},
	{"a panic is swallowed", []string{"panic in fn"}, func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			defer func() { _ = recover() }()
			return l.Do(ctx, fn)
		}
	}},
}

// asOneOwner is what comes of an owner that is named after the process.
func asOneOwner(l *reentrant.Lock, f *funcs) {
	owner := func(ctx context.Context) context.Context { return reentrant.WithOwner(ctx, "the service") }
	f.lock = func(ctx context.Context) error { return l.Lock(owner(ctx)) }
	f.unlock = func(ctx context.Context) error { return l.Unlock(owner(ctx)) }
	f.do = func(ctx context.Context, fn func(context.Context) error) error { return l.Do(owner(ctx), fn) }
	f.tryLock = func(ctx context.Context, wait, lease time.Duration) (bool, error) {
		return l.TryLock(owner(ctx), wait, lease)
	}
}

// polling is a wait without messages.
func polling(l *reentrant.Lock, f *funcs) {
	f.lock = func(ctx context.Context) error {
		for {
			if ok, err := l.TryLock(ctx, 0, 0); ok || err != nil {
				return err
			}
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// byLock is a Do that is made of Lock and what comes after it.
func byLock(then func(l *reentrant.Lock, ctx context.Context, fn func(context.Context) error) error) func(*reentrant.Lock, *funcs) {
	return func(l *reentrant.Lock, f *funcs) {
		f.do = func(ctx context.Context, fn func(context.Context) error) error {
			if err := l.Lock(ctx); err != nil {
				return err
			}
			return then(l, ctx, fn)
		}
	}
}

// quiet is a test that does not fail because a broken Locker leaves locks.
type quiet struct{ testing.TB }

func (quiet) Errorf(string, ...any) {}

// Each mistake is found by the checks that are about it.
func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		newLocker := func(_ testing.TB, r *Redis) Locker {
			l := r.Client().NewLock("order:42")
			f := &funcs{lock: l.Lock, tryLock: l.TryLock, unlock: l.Unlock, do: l.Do}
			m.make(l, f)
			return f
		}
		for _, name := range m.found {
			c := checks[slices.IndexFunc(checks, func(c check) bool { return c.name == name })]
			t.Run(m.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if err := c.play(quiet{t}, newLocker); err == nil {
						t.Error("the mistake was not found")
					} else {
						t.Log(err)
					}
				})
			})
		}
	}
}

// Each check finds a mistake.
func TestChecksFindMistakes(t *testing.T) {
	for _, c := range checks {
		found := false
		for _, m := range mistakes {
			found = found || slices.Contains(m.found, c.name)
		}
		if !found {
			t.Errorf("no mistake shows that the check %q is needed", c.name)
		}
	}
}

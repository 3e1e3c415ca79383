package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// bytesOf is the lock as Redis has it: what RESTORE would take, and when it expires.
func bytesOf(t *testing.T, s *redistest.Server, name string) [2]any {
	t.Helper()
	return [2]any{s.Do(t, "DUMP", name), s.ExpiresAt(t, name)}
}

// Whoever unlocks what is not, or no longer, his is told which of the two, and the
// lock of the one who has it stays as it is: to the byte, to the millisecond of its
// expiry, and without a word to those who wait for it.
func TestFault45UnlockOfWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	for mode, opts := range map[string][]reentrant.Option{"confirmed": nil, "write-behind": {locktest.WriteBehind}} {
		t.Run(mode, func(t *testing.T) { t.Parallel(); unlockOfWhatIsNotHeld(t, locktest.Plain, opts) })
	}
	locktest.Each(t, []locktest.Kind{locktest.Write, locktest.Read, locktest.Fair}, func(t *testing.T, k locktest.Kind) {
		t.Parallel()
		unlockOfWhatIsNotHeld(t, k, nil)
	})
}

func unlockOfWhatIsNotHeld(t *testing.T, k locktest.Kind, opts []reentrant.Option) {
	s := redistest.Start(t)
	mine, theirs := faultClient(t, s.Client(t), opts...), faultClient(t, s.Client(t), opts...)
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	for what, unlock := range map[string]func(l *reentrant.Lock, take func()) (got, want error){
		"never held": func(l *reentrant.Lock, take func()) (error, error) {
			take()
			return l.Unlock(me), reentrant.ErrNotHeld
		},
		"held by another owner of the Client": func(l *reentrant.Lock, take func()) (error, error) {
			take()
			return k.Rival(theirs, l.Name()).Unlock(me), reentrant.ErrNotHeld
		},
		"twice": func(l *reentrant.Lock, take func()) (error, error) {
			must(t, l.Lock(me))
			must(t, l.Unlock(me))
			take()
			return l.Unlock(me), reentrant.ErrNotHeld
		},
		"one more than nested": func(l *reentrant.Lock, take func()) (error, error) {
			for range 3 {
				must(t, l.Lock(me))
			}
			for range 3 {
				must(t, l.Unlock(me))
			}
			take()
			return l.Unlock(me), reentrant.ErrNotHeld
		},
		"a hold that is released": func(l *reentrant.Lock, take func()) (error, error) {
			hold, err := l.Acquire(me)
			must(t, err)
			must(t, hold.Release(me))
			take()
			return hold.Release(me), reentrant.ErrNotHeld
		},
		"lost, and not known yet": func(l *reentrant.Lock, take func()) (error, error) {
			must(t, l.Lock(me))
			s.Do(t, "DEL", l.Name())
			take()
			return l.Unlock(me), reentrant.ErrLost
		},
		"lost, and known": func(l *reentrant.Lock, take func()) (error, error) {
			hold, err := l.Acquire(me, reentrant.WithFixedLease(20*time.Millisecond))
			must(t, err)
			locktest.InTime(t, 5*time.Second, "the loss", hold.Lost())
			locktest.FreeWithin(t, s, 5*time.Second, l.Name())
			take()
			return hold.Release(me), reentrant.ErrLost
		},
		"lost with nested holds": func(l *reentrant.Lock, take func()) (error, error) {
			must(t, l.Lock(me))
			must(t, l.Lock(me))
			s.Do(t, "DEL", l.Name())
			take()
			return errors.Join(l.Unlock(me), l.Unlock(me)), reentrant.ErrLost
		},
	} {
		l := k.Held(mine, what)
		var before [2]any
		heard := s.Client(t).PSubscribe(t.Context(), "*")
		_, err := heard.Receive(t.Context())
		must(t, err)
		got, want := unlock(l, func() {
			err := k.Rival(theirs, what).LockLease(you, time.Hour)
			must(t, err)
			before = bytesOf(t, s, what)
			s.Do(t, "PUBLISH", "mark", "taken")
		})
		if got == nil || !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		for _, other := range []error{reentrant.ErrNotHeld, reentrant.ErrLost} {
			if other != want && errors.Is(got, other) {
				t.Errorf("%s: %v is %v too", what, got, other)
			}
		}
		if after := bytesOf(t, s, what); after != before {
			t.Errorf("%s: the lock was %q, is %q", what, before, after)
		}
		s.Do(t, "PUBLISH", "mark", "end")
		for taken, over := false, false; !over; {
			m, err := heard.ReceiveMessage(t.Context())
			must(t, err)
			switch {
			case m.Channel != "mark":
				if taken {
					t.Errorf("%s: published %q on %s", what, m.Payload, m.Channel)
				}
			case m.Payload == "taken":
				taken = true
			default:
				over = true
			}
		}
		must(t, heard.Close())
		must(t, k.Rival(theirs, what).Unlock(you))
	}
}

// Twice at once, by two goroutines of one owner: one of the two has released it.
func TestFault45UnlockTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	for range 200 {
		must(t, l.Lock(me))
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- l.Unlock(context.WithoutCancel(me)) }()
		}
		released, refused := 0, 0
		for range 2 {
			switch err := locktest.InTime(t, 10*time.Second, "Unlock", results); {
			case err == nil:
				released++
			case errors.Is(err, reentrant.ErrNotHeld):
				refused++
			default:
				t.Errorf("Unlock: %v", err)
			}
		}
		if released != 1 || refused != 1 {
			t.Fatalf("%d released it, %d were refused", released, refused)
		}
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}

package reentrant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// wantBusy wants the owner of ctx to find the lock taken.
func wantBusy(t *testing.T, ctx context.Context, l *reentrant.Lock) {
	t.Helper()
	if ok, err := l.TryLock(ctx, 0, 0); ok || err != nil {
		t.Errorf("TryLock: %v, %v, want busy", ok, err)
	}
}

// The lock stays taken until d after the call, to the millisecond, and is nobody's: the owner cannot enter it again, with
// whatever it has kept.
func TestTimeReleaseAfter(t *testing.T) {
	for what, opts := range map[string][]reentrant.AcquireOption{
		"renewed": nil,
		"fixed":   {reentrant.WithFixedLease(time.Minute)},
	} {
		for _, d := range []time.Duration{lease / 10, 10 * lease} { // shorter than the lease, and longer
			t.Run(what+" "+d.String(), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					var released int
					c := v.client(reentrant.WithEvents(reentrant.Events{Released: func(reentrant.Event) { released++ }}))
					l, ctx := c.NewLock("job"), asHolder(t)
					hold, err := l.Acquire(ctx, opts...)
					must(t, err)
					v.pass(lease / 2)
					must(t, hold.ReleaseAfter(ctx, d))
					if ttl := v.ttl("job"); ttl != d {
						t.Errorf("TTL %v, want %v", ttl, d)
					}
					if cause := context.Cause(hold.Context()); !errors.Is(cause, reentrant.ErrReleased) || ended(hold.Lost()) {
						t.Errorf("the hold's ctx ended by %v", cause)
					}
					if s := c.Stats(); s.Held != 0 || s.Losses != 0 || released != 1 {
						t.Errorf("%+v, %d released", s, released)
					}
					wants(t, hold.Release(v.ctx), reentrant.ErrNotHeld)
					wants(t, hold.ReleaseAfter(v.ctx, d), reentrant.ErrNotHeld)
					wants(t, l.Unlock(ctx), reentrant.ErrNotHeld)
					wantBusy(t, ctx, l)
					wantBusy(t, context.WithoutCancel(hold.Context()), l)
					v.pass(d - time.Millisecond)
					wantBusy(t, ctx, l)
					v.pass(time.Millisecond)
					must(t, l.Lock(ctx))
					must(t, l.Unlock(ctx))
				})
			})
		}
	}
}

// With d of 0 or less it is a release, which wakes and hands over.
func TestTimeReleaseAfterNothing(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			l := v.client().NewLock("job")
			hold, err := l.Acquire(asHolder(t))
			must(t, err)
			must(t, hold.ReleaseAfter(v.ctx, d))
			if v.mini.Exists("job") {
				t.Error("not free")
			}
		})
	}
}

// Who waits believes that the lease ends in a minute, or polls; it has the lock d after the call. That is so for a waiter of the
// same Client, who is not handed it, and for those of others.
func TestTimeReleaseAfterTellsWaiters(t *testing.T) {
	for what, mode := range map[string]reentrant.Handoff{
		"confirmed": reentrant.Confirmed, "remote": reentrant.Remote, "write-behind": reentrant.WriteBehind,
	} {
		for _, here := range []bool{true, false} {
			t.Run(what, func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					c := v.client(reentrant.WithHandoff(mode), reentrant.WithLease(time.Minute))
					other := c
					if !here {
						other = v.client(reentrant.WithLease(time.Minute))
					}
					hold, err := c.NewLock("job").Acquire(asHolder(t))
					must(t, err)
					waiting := begin(func() error { return other.NewLock("job").Lock(v.ctx) })
					v.pass(20*time.Second + 10*time.Millisecond)
					const d = 300 * time.Millisecond // far less than a poll
					freed := time.Now().Add(d)
					must(t, hold.ReleaseAfter(v.ctx, d))
					must(t, waiting.wait())
					if late := waiting.at.Sub(freed); late < 0 || late > 10*time.Millisecond {
						t.Errorf("granted %v after the end", late)
					}
				})
			})
		}
	}
}

// Nested holds: refused, and nothing has changed. The outer one can, when it is the only one.
func TestTimeReleaseAfterNested(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, ctx := v.client().NewLock("job"), asHolder(t)
		outer, err := l.Acquire(ctx)
		must(t, err)
		inner, err := l.Acquire(ctx)
		must(t, err)
		for _, hold := range []*reentrant.Hold{inner, outer} {
			wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrNested)
			if hold.Context().Err() != nil {
				t.Error("the hold has ended")
			}
		}
		v.pass(10 * lease) // renewed as before
		must(t, inner.Release(v.ctx))
		must(t, outer.ReleaseAfter(v.ctx, time.Minute))
		if ttl := v.ttl("job"); ttl != time.Minute {
			t.Errorf("TTL %v", ttl)
		}
	})
}

func TestTimeReleaseAfterRange(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold, err := v.client().NewLock("job").Acquire(asHolder(t))
		must(t, err)
		wants(t, hold.ReleaseAfter(v.ctx, 101*365*24*time.Hour), reentrant.ErrInvalidLease)
		must(t, hold.Release(v.ctx))
	})
}

// After write-behind hand-offs the field in Redis is an earlier holder's; it is nobody's afterwards all the same.
func TestTimeReleaseAfterBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithHandoff(reentrant.WriteBehind))
		l := c.NewLock("job")
		a, b := reentrant.WithOwner(v.ctx, "a"), reentrant.WithOwner(v.ctx, "b")
		first, err := l.Acquire(a)
		must(t, err)
		var second *reentrant.Hold
		waiting := begin(func() (err error) { second, err = l.Acquire(b); return err })
		v.pass(time.Millisecond)
		v.refuseAll("LOADING") // so that the field stays behind
		must(t, first.Release(v.ctx))
		must(t, waiting.wait())
		released := begin(func() error { return second.ReleaseAfter(v.ctx, time.Minute) })
		v.pass(time.Millisecond)
		v.refuseAll("")
		must(t, released.wait())
		if ttl := v.ttl("job"); ttl > time.Minute || ttl < time.Minute-lease {
			t.Errorf("TTL %v", ttl)
		}
		for field, count := range v.fields("job") {
			if !strings.HasPrefix(field, c.ID()+":=released:") || count != "1" {
				t.Errorf("%s: %s", field, count)
			}
		}
		wantBusy(t, a, l)
		wantBusy(t, b, l)
	})
}

// No answer: the caller is told, and the Client goes on until what is left of d. The end is d after the call, whenever Redis
// hears of it.
func TestTimeReleaseAfterUnconfirmed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("job")
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		v.refuseAll("LOADING")
		const d = 30 * time.Second
		called := time.Now()
		err = hold.ReleaseAfter(v.ctx, d)
		var unconfirmed *reentrant.UnconfirmedError
		if !errors.As(err, &unconfirmed) || unconfirmed.FreeAfter < 50*time.Second {
			t.Fatalf("%v", err)
		}
		v.pass(10*time.Second - time.Since(called))
		v.refuseAll("")
		v.pass(2 * time.Second)
		if end := time.Now().Add(v.ttl("job")).Sub(called); end < d || end > d+10*time.Millisecond {
			t.Errorf("free %v after the call, want %v", end, d)
		}
		wantBusy(t, asHolder(t), l)
	})
}

// A reply is lost: the release that is sent again finds it done, and the end stays where it was.
func TestTimeReleaseAfterTwice(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		ctx, cancel := context.WithTimeout(v.ctx, lease/10)
		defer cancel()
		v.scriptsTake(lease / 5)
		wants(t, hold.ReleaseAfter(ctx, time.Minute), reentrant.ErrUnconfirmed, context.DeadlineExceeded)
		v.pass(lease)
		v.onCommand(nil)
		if fields := v.fields("job"); len(fields) != 1 || v.ttl("job") < time.Minute-2*lease {
			t.Errorf("%v for %v", fields, v.ttl("job"))
		}
		wantBusy(t, asHolder(t), l)
	})
}

// The lock was forced meanwhile: a loss, as for a release.
func TestTimeReleaseAfterLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold, err := v.client().NewLock("job").Acquire(asHolder(t))
		must(t, err)
		v.mini.Del("job")
		wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrLost)
		if v.mini.Exists("job") {
			t.Error("made anew")
		}
	})
}

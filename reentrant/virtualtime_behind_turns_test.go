package reentrant_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// row is a line of owners of one Client, each of whom holds the lock for a while.
type row struct {
	holds []*reentrant.Hold
	calls []*pending
	held  time.Duration
	next  int // who has not been waited for
}

// pass releases a hold and has the next one of the row hold the lock.
func (r *row) pass(v *virtual, hold *reentrant.Hold) *reentrant.Hold {
	must(v.t, hold.Release(v.ctx))
	must(v.t, r.calls[r.next].wait())
	r.next++
	time.Sleep(r.held)
	return r.holds[r.next-1]
}

// finish lets the rest have their turns.
func (r *row) finish(v *virtual, hold *reentrant.Hold) {
	for r.next < len(r.calls) {
		hold = r.pass(v, hold)
	}
	must(v.t, hold.Release(v.ctx))
}

// Another Client that waits when the lock comes to this one gets it after 16 hand-offs, or
// after up to 256 if all of them take less than 2 ms.
func TestTimeBehindTurnsWhileAnotherWaits(t *testing.T) {
	for _, test := range []struct {
		held time.Duration
		most int
	}{{20 * time.Millisecond, 16}, {time.Millisecond, 16}, {50 * time.Microsecond, 41}, {0, 256}} {
		t.Run(fmt.Sprint(test.held), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(locktest.WriteBehind, reentrant.WithLease(time.Hour))
				l := c.NewLock("job")
				hold, err := l.Acquire(v.ctx)
				must(t, err)
				r := &row{held: test.held}
				r.holds, r.calls = waitInLine(v, l, 300)
				theirs, other := waitInLine(v, v.client(reentrant.WithLease(time.Hour)).NewLock("job"), 1)
				go func() { // gives it back at once, so that the row goes on
					if other[0].wait() == nil {
						r.calls[0].at = time.Now()
						_ = theirs[0].Release(v.ctx)
					}
				}()
				passed := -1
				for !other[0].over() && r.next < len(r.calls) {
					hold = r.pass(v, hold)
					passed++
				}
				if !other[0].over() || passed > test.most {
					t.Errorf("the other client has it %v, after %d hand-offs, want at most %d", other[0].over(), passed, test.most)
				}
				r.finish(v, hold)
			})
		})
	}
}

// One that comes while nobody is known to wait waits up to 10 ms longer.
func TestTimeBehindTurnsWhenAnotherComes(t *testing.T) {
	for _, test := range []struct {
		held, most time.Duration
	}{{100 * time.Microsecond, 13 * time.Millisecond}, {time.Millisecond, 27 * time.Millisecond}, {20 * time.Millisecond, 340 * time.Millisecond}} {
		for _, before := range []int{0, 1, 3, 7, 12} {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(locktest.WriteBehind, reentrant.WithLease(time.Hour))
				l := c.NewLock("job")
				hold, err := l.Acquire(v.ctx)
				must(t, err)
				r := &row{held: test.held}
				r.holds, r.calls = waitInLine(v, l, 200)
				for range before + 30 {
					hold = r.pass(v, hold)
				}
				theirs, other := waitInLine(v, v.client(reentrant.WithLease(time.Hour)).NewLock("job"), 1)
				came := time.Now()
				done := begin(func() error {
					if err := other[0].wait(); err != nil {
						return err
					}
					return theirs[0].Release(v.ctx)
				})
				r.finish(v, hold)
				must(t, done.wait())
				if waited := other[0].at.Sub(came); waited > test.most {
					t.Errorf("held %v each, %d before: the other client waited %v, want at most %v", test.held, before, waited, test.most)
				}
			})
		}
	}
}

// A stranger on the common channel is taken for a client of Redisson that waits: it hears of
// a release after every other holder.
func TestTimeBehindTurnsBesideRedisson(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const owners = 40
		c := v.client(locktest.WriteBehind, reentrant.WithLease(time.Hour))
		l := c.NewLock("job")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		r := &row{held: 20 * time.Millisecond}
		r.holds, r.calls = waitInLine(v, l, owners)
		stranger := redistest.MiniClient(t, v.mini).Subscribe(v.ctx, "redisson_lock__channel:{job}")
		defer stranger.Close()
		_, err = stranger.Receive(v.ctx)
		must(t, err)
		heard := stranger.Channel()
		synctest.Wait()
		since := 0
		for r.next < owners {
			hold = r.pass(v, hold)
			synctest.Wait()
			if since++; len(heard) > 0 {
				<-heard
				since = 0
			}
			if since > 2 {
				t.Fatalf("%d hand-offs in a row beside a stranger, after %d", since, r.next)
			}
		}
		must(t, hold.Release(v.ctx))
		if n := int(c.Stats().HandedOver); n > owners*2/3 {
			t.Errorf("%d of %d grants were hand-offs", n, owners)
		}
	})
}

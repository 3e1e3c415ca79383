package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// wantHolds wants Redis to have the lock for the call's owner, also after the claim.
func (v *virtual) wantHolds(p *grantWait) {
	v.t.Helper()
	must(v.t, p.wait())
	for range 3 {
		if held := v.fields("job"); ended(p.hold.Lost()) || len(held) != 1 || held[p.hold.Owner()] != "1" {
			v.t.Fatalf("the lock is %v, lost: %v", held, context.Cause(p.hold.Context()))
		}
		v.pass(claim)
	}
	must(v.t, p.hold.Release(v.ctx))
	v.wantNothingLeft()
}

// A release grants the lock, and the same Client's ForceUnlock frees it before the message is there. The waiter
// must ask: the field is gone.
func TestTimeForceUnlockBeforeTheMessage(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.heldElsewhere()
		p := v.waits()
		g := v.registered()
		v.grantBy(g)
		freed, err := p.c.NewLock("job").ForceUnlock(v.ctx)
		if must(t, err); !freed || v.mini.Exists("job") {
			t.Fatalf("freed: %v, the lock is %v", freed, v.fields("job"))
		}
		v.scripts()
		v.tell(g, g.nonce)
		v.wantAttempt(p, true)
		v.wantHolds(p)
	})
}

// The grant comes while ForceUnlock is under way, and frees the lock that was granted.
func TestTimeForceUnlockDuringTheMessage(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		v.onScript("4", "turn", func() string { time.Sleep(100 * time.Millisecond); return "" })
		force := begin(func() error { _, err := p.c.NewLock("job").ForceUnlock(v.ctx); return err })
		v.pass(50 * time.Millisecond)
		must(t, held.Release(v.ctx))
		v.pass(time.Millisecond)
		if p.over() || v.fields("job")[v.fieldOf(p)] != "1" {
			t.Fatalf("the call is over: %v, the lock is %v", p.over(), v.fields("job"))
		}
		must(t, force.wait())
		v.onCommand(nil)
		v.wantHolds(p)
		if s := p.c.Stats(); s.Granted != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// fieldOf is the field of the call's owner.
func (v *virtual) fieldOf(p *grantWait) string { return p.c.ID() + ":waiter" }

// A forced unlock by the waiter's own Client grants the waiter the lock, and the waiter asks.
func TestTimeForceUnlockForTheOwnWaiter(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		freed, err := p.c.NewLock("job").ForceUnlock(v.ctx)
		if must(t, err); !freed {
			t.Fatal("nothing was freed")
		}
		v.wantHolds(p)
		wants(t, held.Release(v.ctx), reentrant.ErrLost)
	})
}

// Close ends a call that a release has granted the lock, and the message is lost or on its way. It takes the lock
// back.
func TestTimeCloseWhileTheGrantIsUnderWay(t *testing.T) {
	for _, told := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			v.heldElsewhere()
			p := v.waits()
			g := v.registered()
			v.grantBy(g)
			closing := begin(func() error { return p.c.Close(v.ctx) })
			if told {
				v.tell(g, g.nonce)
			}
			if err := p.wait(); err == nil {
				must(t, p.hold.Release(v.ctx))
			} else {
				wants(t, err, reentrant.ErrClosed)
			}
			must(t, closing.wait())
			v.wantNothingLeft()
		})
	}
}

// The ctx, or the limit of the wait, ends at the instant of the release. Whoever wins, the lock is not left to a
// call that has gone, and the next one need not wait for the claim.
func TestTimeWaitEndsWithTheGrant(t *testing.T) {
	const wait = 400 * time.Millisecond
	for what, begins := range map[string]func(v *virtual, c *reentrant.Client) *grantWait{
		"ctx": func(v *virtual, c *reentrant.Client) *grantWait {
			ctx, cancel := context.WithTimeout(v.ctx, wait)
			v.t.Cleanup(cancel)
			return v.waitsIn(ctx, c, c.NewLock("job"))
		},
		"limit": func(v *virtual, c *reentrant.Client) *grantWait {
			return v.waitsIn(v.ctx, c, c.NewLock("job"), reentrant.WithWait(wait))
		},
	} {
		t.Run(what, func(t *testing.T) {
			for i := range 10 {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					held := v.heldElsewhere()
					c := v.client(reentrant.WithLease(time.Minute))
					p := begins(v, c)
					time.Sleep(wait - 50*time.Millisecond + time.Duration(i%3-1)*time.Nanosecond)
					must(t, held.Release(v.ctx))
					if err := p.wait(); err == nil {
						must(t, p.hold.Release(v.ctx))
					} else if !errors.Is(err, reentrant.ErrNotAcquired) {
						t.Error(err)
					}
					v.pass(10 * time.Millisecond)
					other := v.client().NewLock("job")
					if ok, err := other.TryLock(v.ctx, 0, 0); !ok || err != nil {
						t.Fatalf("%v, %v: the lock is %v", ok, err, v.fields("job"))
					}
					must(t, other.Unlock(v.ctx))
					v.wantNothingLeft()
				})
			}
		})
	}
}

// The call to which a release has granted the lock has gone, and another of the Client has come. It gets the lock
// by its attempt, and the field of the first is gone.
func TestTimeGrantToACallThatHasGone(t *testing.T) {
	for _, told := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			v.heldElsewhere()
			ctx, cancel := context.WithCancel(v.ctx)
			c := v.client(reentrant.WithLease(time.Minute))
			first := v.waitsIn(ctx, c, c.NewLock("job"))
			second := &grantWait{c: c}
			second.pending = begin(func() (err error) {
				second.hold, err = c.NewLock("job").Acquire(owner(v.ctx, "second"))
				return err
			})
			v.pass(50 * time.Millisecond)
			g := v.registered()
			v.grantBy(g)
			cancel()
			if told {
				v.tell(g, g.nonce)
			}
			if err := first.wait(); err == nil { // the message was first
				must(t, first.hold.Release(v.ctx))
			}
			left := time.Now()
			must(t, second.wait())
			if took := second.at.Sub(left); took > 10*time.Millisecond {
				t.Errorf("granted %v after the first had gone", took)
			}
			v.wantHolds(second)
		})
	}
}

// The nonce of a call that has gone is not the grant of the one behind it.
func TestTimeGrantOfAnotherOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		ctx, cancel := context.WithCancel(v.ctx)
		c := v.client(reentrant.WithLease(time.Minute))
		first := v.waitsIn(ctx, c, c.NewLock("job"))
		second := begin(func() error { return c.NewLock("job").Lock(owner(v.ctx, "second")) })
		v.pass(50 * time.Millisecond)
		g := v.registered()
		cancel()
		wants(t, first.wait(), reentrant.ErrNotAcquired)
		v.pass(50 * time.Millisecond)
		v.tell(g, g.nonce)
		v.pass(time.Millisecond)
		if now := v.registered(); second.over() || now.owner != c.ID()+":second" {
			t.Fatalf("the second is over: %v, registered %+v", second.over(), now)
		}
		must(t, held.Release(v.ctx))
		must(t, second.wait())
		if s := c.Stats(); s.Granted != 1 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// lossy is a hook that loses the answers to attempts that register the Client.
type lossy struct{ locktest.LateAnswer }

func (lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		const register = 3 + 5 + 5 // behind EVALSHA and five keys, the sixth argument
		if args := cmd.Args(); err == nil && len(args) > register && len(args) >= 18 && fmt.Sprint(args[register]) != "0" {
			err = io.ErrUnexpectedEOF
			cmd.SetErr(err)
		}
		return err
	}
}

// A call gives up, and a release grants it the lock right before its Client leaves the registry. The leave names
// the owner, also if the attempt that registered it was never answered.
func TestTimeGrantRightBeforeTheLeave(t *testing.T) {
	for _, answered := range []bool{true, false} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			v.heldElsewhere()
			rdb := redistest.MiniClient(t, v.mini)
			if !answered {
				rdb.AddHook(lossy{})
			}
			c := newClient(t, rdb, reentrant.WithLease(time.Minute))
			p := v.waitsIn(v.ctx, c, c.NewLock("job"), reentrant.WithWait(60*time.Millisecond))
			g, left := v.registered(), false
			v.onCommand(func(cmd string, args []string) string {
				script := cmd == "EVALSHA" && args[1] == "5"
				if script && args[7] == g.client && !left { // the leave: other scripts name an owner there
					left = true
					v.grantBy(g)
				}
				return ""
			})
			wants(t, p.wait(), reentrant.ErrNotAcquired)
			v.pass(100 * time.Millisecond)
			if !left || v.mini.Exists("job") {
				t.Errorf("answered %v: left %v, the lock is %v", answered, left, v.fields("job"))
			}
		})
	}
}

// nested has the call's owner enter its lock again, and stay in it for longer than the claim.
func (v *virtual) nested(p *grantWait, opts ...reentrant.AcquireOption) *reentrant.Hold {
	v.t.Helper()
	inner, err := p.c.NewLock("job").Acquire(owner(v.ctx, "waiter"), opts...)
	must(v.t, err)
	v.pass(2 * claim)
	return inner
}

// What an owner does with a lock that a release has granted it, before the first renewal, is as with any other.
func TestTimeGrantedHoldIsAHold(t *testing.T) {
	fixed := reentrant.WithFixedLease(10 * time.Second)
	for what, do := range map[string]func(v *virtual, p *grantWait){
		"nested":                    func(v *virtual, p *grantWait) { must(v.t, v.nested(p).Release(v.ctx)) },
		"nested with a fixed lease": func(v *virtual, p *grantWait) { must(v.t, v.nested(p, fixed).Release(v.ctx)) },
		"ends before the nested": func(v *virtual, p *grantWait) {
			inner, err := p.c.NewLock("job").Acquire(owner(v.ctx, "waiter"), fixed)
			must(v.t, err)
			must(v.t, p.hold.Release(v.ctx)) // before any renewal
			p.hold = inner
			v.pass(3 * claim)
			if held := v.fields("job"); ended(p.hold.Lost()) || held[p.hold.Owner()] != "1" {
				v.t.Fatalf("the lock is %v, lost: %v", held, context.Cause(p.hold.Context()))
			}
			must(v.t, p.hold.Release(v.ctx))
			p.hold = nil
		},
		"handed over": func(v *virtual, p *grantWait) {
			next := begin(func() (err error) {
				p.hold, err = p.c.NewLock("job").Acquire(owner(v.ctx, "next"))
				return err
			})
			v.pass(10 * time.Millisecond)
			must(v.t, p.hold.Release(v.ctx))
			must(v.t, next.wait())
			if left := v.ttl("job"); left < 59*time.Second {
				v.t.Errorf("%v are left of the lease", left)
			}
		},
		"released after": func(v *virtual, p *grantWait) {
			must(v.t, p.hold.ReleaseAfter(v.ctx, 2*claim))
			v.pass(2*claim - time.Millisecond)
			if !v.mini.Exists("job") {
				v.t.Error("freed too early")
			}
			p.hold = nil
		},
	} {
		t.Run(what, func(t *testing.T) { inVirtualTime(t, func(t *testing.T, v *virtual) { v.asAnyHold(do) }) })
	}
}

// asAnyHold has a release grant a call the lock, and do what a holder may do. What is held then stays held.
func (v *virtual) asAnyHold(do func(v *virtual, p *grantWait)) {
	v.t.Helper()
	held := v.heldElsewhere()
	p := v.waits()
	v.grantedNow(held, p)
	do(v, p)
	if p.hold == nil {
		v.wantNothingLeft()
		return
	}
	v.wantHolds(p)
}

package reentrant_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	claim    = 3 * time.Second
	asked    = "redlatch_epoch:{job}:grants" // what a release needs to grant the lock
	longHold = time.Hour                     // no holder's lease ends during a test
)

// registration is what the attempt of a Client that waits has asked a release for.
type registration struct {
	client, nonce, owner string
	at                   time.Time
	claim                string
}

// registered is the one registration; its nonce is empty if a release is to wake the Client.
func (v *virtual) registered() (g registration) {
	v.t.Helper()
	for client, entry := range v.fields(asked) {
		parts := strings.SplitN(entry, " ", 5)
		micros, err := strconv.ParseInt(parts[1], 10, 64)
		must(v.t, err)
		g = registration{client: client, nonce: parts[0], at: time.UnixMicro(micros), claim: parts[2], owner: parts[4]}
	}
	return g
}

// tell publishes on the Client's own channel.
func (v *virtual) tell(g registration, message string) {
	v.mini.Publish("redisson_lock__channel:{job}:"+g.client, message)
}

// grantBy does what a release does that grants the lock, but for the message.
func (v *virtual) grantBy(g registration) {
	v.mini.Del("job")
	v.mini.Del(asked)
	v.mini.Del("redlatch_waiters:{job}")
	v.mini.HSet("job", g.owner, "1")
	v.mini.SetTTL("job", claim)
}

// grantWait is a call that waits for a grant.
type grantWait struct {
	*pending
	c    *reentrant.Client
	hold *reentrant.Hold
}

// waits has a new Client of another process wait for the lock, long enough to be registered.
func (v *virtual) waits(opts ...reentrant.Option) *grantWait {
	v.t.Helper()
	c := v.client(append([]reentrant.Option{reentrant.WithLease(time.Minute)}, opts...)...)
	return v.waitsIn(v.ctx, c, c.NewLock("job"))
}

// waitsIn is waits for a call of that Client, with a ctx of the test's own.
func (v *virtual) waitsIn(ctx context.Context, c *reentrant.Client, l *reentrant.Lock, o ...reentrant.AcquireOption) *grantWait {
	v.t.Helper()
	p := &grantWait{c: c}
	p.pending = begin(func() (err error) {
		p.hold, err = l.Acquire(owner(ctx, "waiter"), o...)
		return err
	})
	v.pass(50 * time.Millisecond)
	return p
}

// heldElsewhere has another process hold the lock.
func (v *virtual) heldElsewhere() *reentrant.Hold {
	v.t.Helper()
	hold, err := v.client(reentrant.WithLease(longHold)).NewLock("job").Acquire(asHolder(v.t))
	must(v.t, err)
	return hold
}

// grantedNow has a release grant the lock to the call.
func (v *virtual) grantedNow(held *reentrant.Hold, p *grantWait) *reentrant.Hold {
	v.t.Helper()
	must(v.t, held.Release(v.ctx))
	must(v.t, p.wait())
	if n := p.c.Stats().Granted; n != 1 {
		v.t.Fatalf("%d locks were granted by a release", n)
	}
	return p.hold
}

// wantAttempt wants the call to answer what has just happened by an attempt, and by nothing else.
func (v *virtual) wantAttempt(p *grantWait, holds bool) {
	v.t.Helper()
	v.pass(time.Millisecond)
	if n, s := v.scripts(), p.c.Stats(); n != 1 || s.Granted != 0 || p.over() != holds {
		v.t.Fatalf("%d scripts, the call has the lock: %v, stats %+v", n, p.over(), s)
	}
}

// wantNothingLeft wants Redis to be empty, once what was begun is over.
func (v *virtual) wantNothingLeft() {
	v.t.Helper()
	v.pass(time.Second)
	if keys := v.mini.Keys(); len(keys) != 0 {
		v.t.Fatalf("left: %q, the lock is %v", keys, v.fields("job"))
	}
}

// aged returns when the last registration is so old and will not be replaced soon: polls are far apart by then.
func (v *virtual) aged(d time.Duration) registration {
	v.t.Helper()
	first := v.registered()
	for began := time.Now(); v.registered().at.Sub(first.at) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			v.t.Fatal("no polls")
		}
	}
	g := v.registered()
	v.pass(time.Until(g.at.Add(d)))
	if v.registered().nonce != g.nonce {
		v.t.Fatal("a poll has come between")
	}
	v.scripts()
	return g
}

// The claim counts from before the attempt that asked for it, whenever the message comes: Redis may have granted
// the lock right after the attempt.
func TestTimeGrantCountsFromTheAttempt(t *testing.T) {
	for _, age := range []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			v.heldElsewhere()
			p := v.waits()
			g := v.aged(age)
			v.grantBy(g)
			v.tell(g, g.nonce)
			must(t, p.wait())
			if n, s := v.scripts(), p.c.Stats(); n != 0 || s.Granted != 1 || s.Acquired != 1 {
				t.Fatalf("%d scripts, stats %+v", n, s)
			}
			v.refuseAll("LOADING Redis is loading the dataset in memory")
			<-p.hold.Lost()
			if trusted := time.Since(g.at); trusted > claim || trusted < claim*9/10 {
				t.Errorf("the lock was trusted until %v after the attempt, with a message after %v", trusted, age)
			}
			var why *reentrant.LostError
			if !errors.As(context.Cause(p.hold.Context()), &why) || why.Reason != reentrant.LeaseEnded {
				t.Errorf("lost because of %v", context.Cause(p.hold.Context()))
			}
			v.refuseAll("")
		})
	}
}

// A message that comes when half of the claim is over has the waiter make an attempt. That finds the field, or that
// another has the lock by then.
func TestTimeLateGrantIsAskedFor(t *testing.T) {
	for _, age := range []time.Duration{1600 * time.Millisecond, 2900 * time.Millisecond, 3200 * time.Millisecond} {
		for _, stands := range []bool{true, false} {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				v.heldElsewhere()
				p := v.waits()
				g := v.aged(age)
				if stands {
					v.grantBy(g)
				}
				v.tell(g, g.nonce)
				v.wantAttempt(p, stands)
				if left := v.ttl("job"); stands && left < time.Minute-time.Second {
					t.Errorf("%v are left of the lease", left)
				}
			})
		}
	}
}

// The nonce of an earlier attempt is void: the attempt after it may have taken back what it was granted. So is
// whatever else somebody publishes.
func TestTimeGrantForAnEarlierAttempt(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		first := v.registered()
		v.scripts()
		for _, message := range []string{"x", "", first.nonce, first.nonce + " 7", first.nonce + "x", " " + first.nonce} {
			before := v.registered()
			if message == "x" {
				before.nonce = "" // the first message makes the nonce void
			}
			v.tell(first, message)
			v.wantAttempt(p, false)
			if now := v.registered(); now.nonce == before.nonce || now.nonce == first.nonce {
				t.Fatalf("after %q: %+v", message, now)
			}
		}
		v.grantedNow(held, p)
	})
}

// Every 16th registration asks for no grant. Then the nonce of the one before is void as well.
func TestTimeSixteenthRegistrationIsWoken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		first := v.registered()
		for i := 1; i < 16; i++ {
			last := v.registered()
			if last.nonce == "" || i > 1 && last.nonce == first.nonce {
				t.Fatalf("registration %d: %+v", i, last)
			}
			first.nonce = last.nonce
			v.tell(first, "0")
			v.pass(20 * time.Millisecond)
		}
		if v.mini.Exists(asked) || !v.mini.Exists("redlatch_waiters:{job}") {
			t.Fatalf("the 16th registration: %+v", v.registered())
		}
		v.scripts()
		v.tell(first, first.nonce) // of the 15th
		v.wantAttempt(p, false)
		if v.registered().nonce == "" {
			t.Fatal("the 17th registration asks for no grant")
		}
		v.grantedNow(held, p)
	})
}

func TestTimeGrantIsRenewedAtHalfOfTheClaim(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		attempt := v.registered().at
		hold := v.grantedNow(held, p)
		if left := v.ttl("job"); left != claim {
			t.Fatalf("%v are left of the claim", left)
		}
		v.pass(time.Until(attempt.Add(claim/2 - 100*time.Millisecond)))
		if s := p.c.Stats(); s.Renewals != 0 {
			t.Fatalf("stats %+v", s)
		}
		v.pass(200 * time.Millisecond)
		if s, left := p.c.Stats(), v.ttl("job"); s.Renewals != 1 || left < 59*time.Second {
			t.Fatalf("%v are left, stats %+v", left, s)
		}
		v.pass(15 * time.Second) // less than a third of the lease: from now on it is renewed as any other
		if s := p.c.Stats(); s.Renewals != 1 {
			t.Fatalf("stats %+v", s)
		}
		must(t, hold.Release(v.ctx))
		v.wantNothingLeft()
	})
}

func TestTimeShortGrantedHoldIsNotRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		hold := v.grantedNow(held, p)
		v.scripts()
		v.pass(time.Second)
		must(t, hold.Release(v.ctx))
		if n, s := v.scripts(), p.c.Stats(); n != 1 || s.Renewals != 0 {
			t.Fatalf("%d scripts, stats %+v", n, s)
		}
		v.wantNothingLeft()
	})
}

// The grant has no other confirmation than the message, so the first renewal is what finds that Redis forgot.
func TestTimeGrantForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		held := v.heldElsewhere()
		p := v.waits()
		attempt := v.registered().at
		hold := v.grantedNow(held, p)
		v.mini.FlushAll()
		<-hold.Lost()
		if took := time.Since(attempt); took > claim/2+50*time.Millisecond {
			t.Errorf("lost %v after the attempt", took)
		}
		var why *reentrant.LostError
		if !errors.As(context.Cause(hold.Context()), &why) || why.Reason != reentrant.Overridden {
			t.Errorf("lost because of %v", context.Cause(hold.Context()))
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		v.wantNothingLeft()
	})
}

// These calls need more than the claim gives: a release wakes them, and they ask themselves.
func TestTimeRegisteredWithoutNonce(t *testing.T) {
	for what, wait := range map[string]func(v *virtual) *grantWait{
		"fixed lease": func(v *virtual) *grantWait {
			c := v.client()
			return v.waitsIn(v.ctx, c, c.NewLock("job"), reentrant.WithFixedLease(time.Minute))
		},
		"write-behind": func(v *virtual) *grantWait { return v.waits(reentrant.WithHandoff(reentrant.WriteBehind)) },
		"replicas":     func(v *virtual) *grantWait { return v.waits(reentrant.WithReplicaAcks(1, 100*time.Millisecond)) },
		"member": func(v *virtual) *grantWait {
			p := &grantWait{c: v.client()}
			m := p.c.NewLock("job").Member()
			p.pending = begin(func() error { _, err := m.Take(owner(v.ctx, "waiter"), multi.Terms{}); return err })
			v.pass(50 * time.Millisecond)
			return p
		},
	} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				held := v.heldElsewhere()
				p := wait(v)
				if v.mini.Exists(asked) || !v.mini.Exists("redlatch_waiters:{job}") {
					t.Fatalf("keys %q", v.mini.Keys())
				}
				v.scripts()
				must(t, held.Release(v.ctx))
				v.pass(time.Millisecond)
				if n, s := v.scripts(), p.c.Stats(); n < 2 || s.Granted != 0 || s.WakeUps.Message != 1 {
					t.Fatalf("%d scripts, stats %+v", n, s)
				}
			})
		})
	}
}

func TestTimeClaimIsNoLongerThanTheLease(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 2999 * time.Millisecond: 2999 * time.Millisecond, claim: claim, time.Hour: claim,
	} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			held := v.heldElsewhere()
			p := v.waits(reentrant.WithLease(lease))
			if got := v.registered().claim; got != strconv.FormatInt(want.Milliseconds(), 10) {
				t.Errorf("with a lease of %v the claim is %s ms", lease, got)
			}
			hold := v.grantedNow(held, p)
			if left := v.ttl("job"); left != want {
				t.Errorf("with a lease of %v, %v are left", lease, left)
			}
			v.pass(3 * lease)
			if left := v.ttl("job"); ended(hold.Lost()) || left > lease || left < lease/2 {
				t.Errorf("with a lease of %v, %v are left after three of them", lease, left)
			}
		})
	}
}

// The token of a granted hold is the one that Redis has issued, above all before.
func TestTimeGrantedToken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var last int64
		clients := [2]*reentrant.Client{v.client(), v.client()}
		lock := func(i int) *reentrant.Lock { return clients[i%2].NewLock("job", reentrant.WithFencing()) }
		hold, err := lock(0).Acquire(asHolder(t))
		must(t, err)
		for i := 1; i < 8; i++ {
			last = hold.Token()
			p := v.waitsIn(v.ctx, clients[i%2], lock(i))
			granted := p.c.Stats().Granted
			must(t, hold.Release(v.ctx))
			must(t, p.wait())
			hold = p.hold
			counter, err := v.mini.Get("redisson_lock_token:{job}")
			must(t, err)
			if hold.Token() <= last || counter != strconv.FormatInt(hold.Token(), 10) || p.c.Stats().Granted != granted+1 {
				t.Fatalf("token %d after %d, the counter is %s, stats %+v", hold.Token(), last, counter, p.c.Stats())
			}
		}
	})
}

package lockstate

import (
	"testing"
	"time"
)

// sharing is a State with readers on a shared lease, by hand.
type sharing struct {
	t   *testing.T
	s   State
	e   fakeEngine
	now time.Time
}

func newSharing(t *testing.T) *sharing {
	x := &sharing{t: t, now: start}
	x.e = fakeEngine{clock: &clock{now: start}, did: mute}
	x.s.Init(&Config{Lease: testLease}, &x.e, false)
	return x
}

func (x *sharing) pass(d time.Duration) {
	x.now = x.now.Add(d)
	x.e.clock.now = x.now
}

func (x *sharing) request(owner string) *Request {
	return &Request{Owner: owner, Mode: Shared, SharedField: commonField, Lease: testLease, Began: x.now}
}

// enters wants what becomes of a call.
func (x *sharing) enters(owner string, want EntryKind) *Ownership {
	x.t.Helper()
	e := x.s.Enter(x.request(owner), nil, x.now)
	if e.Kind != want {
		x.t.Fatalf("%s: %d, not %d", owner, e.Kind, want)
	}
	return e.Of
}

// asks has a reader's attempt granted, or confirmed.
func (x *sharing) asks(owner string, redisson bool) *Ownership {
	x.t.Helper()
	x.enters(owner, Wait)
	w := &Waiter{Request: *x.request(owner), Call: &fakeCall{did: muteOne}}
	x.s.Enqueue(w)
	if !x.s.BeginAttempt(w, x.now) {
		x.t.Fatalf("%s does not lead", owner)
	}
	o, refusal := x.s.Granted(w, Grant{Sent: x.now, Redisson: redisson}, x.now)
	if refusal != Accepted {
		x.t.Fatalf("%s is refused: %d", owner, refusal)
	}
	return o
}

// A reader is admitted without a command only on a fresh word, on a third of the lease, and while no writer waits.
func TestSharedAdmission(t *testing.T) {
	x := newSharing(t)
	x.asks("r1", false)
	x.enters("r2", Admitted)
	x.enters("r2", Nests)
	x.pass(freshFor - 1)
	x.enters("r3", Admitted)
	x.pass(1)
	x.enters("r4", Wait)
	x.asks("r4", false)
	x.enters("r5", Admitted)

	x.pass(testLease*2/3 - 5*time.Millisecond)
	x.s.shared.confirmed = x.now // a renewal does not count, so no answer is so fresh on a lease so old
	x.enters("r6", Wait)
	x.pass(testLease)
	x.enters("r2", Perished)
	if x.s.shared != nil || len(x.s.owners) > 0 {
		t.Error("the lease is not lost")
	}
}

func TestSharedOvertakesNoWriter(t *testing.T) {
	x := newSharing(t)
	x.asks("r1", false)
	w := &Waiter{Request: Request{Owner: "w", Lease: testLease}, Call: &fakeCall{did: muteOne}}
	x.s.Enqueue(w)
	x.enters("r2", Wait)
	x.enters("r1", Nests)
	x.s.Leave(w, x.now)
	x.enters("r2", Admitted)
}

// Beside Redisson's waiters a shared lease admits no reader more than allowed, whatever Redis says, until it has
// been released.
func TestSharedEndsForRedisson(t *testing.T) {
	for _, byTime := range []bool{false, true} {
		x := newSharing(t)
		first := x.asks("r0", true)
		if byTime {
			x.pass(besideRedissonFor)
			x.s.shared.confirmed = x.now
		} else {
			for i := range maxBesideRedisson - 1 {
				x.s.Release(x.enters(string(rune('a'+i)), Admitted), &Hold{}, x.now)
			}
		}
		x.enters("late", Wait)
		w := &Waiter{Request: *x.request("late"), Call: &fakeCall{did: muteOne}}
		x.s.Enqueue(w)
		if w.State() != Queued {
			t.Error("it asks Redis")
		}
		if step := x.s.Release(first, &Hold{}, x.now); step != Free {
			t.Fatal(step)
		}
		x.s.Released(first.lease.Root(), Done, x.now)
		if w.State() != Leading {
			t.Error("it does not ask Redis after the release")
		}
	}
}

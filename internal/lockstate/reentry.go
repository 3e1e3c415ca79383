package lockstate

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Reentry is a nested call on its way: it adds a hold to a live ownership.
type Reentry struct {
	Of   *Ownership
	Kind HoldKind
	// Lease is what the nested hold wants.
	Lease time.Duration

	// What the last try told Redis.
	Count int           // the hold count, the nested hold included
	Ask   time.Duration // the lease; 0: the TTL stays, as WithMaxHold may end between two tries
	sent  time.Time     // zero: Redis was told nothing

	// The call may leave at the moment of the answer. These decide which came first.
	entered bool // the hold was added
	gone    bool // the call has left
}

// Entered says what became of a nested call.
type Entered int8

const (
	Added       Entered = iota // the hold was added
	Interrupted                // the call has left; nothing was added
	Over                       // the ownership had ended; it was not lost
	WasLost                    // the ownership had been lost
	LostNow                    // the validity ended before the answer came: this has ended the ownership
	NotAdded                   // the command failed
	Kept                       // of a call that leaves at its limit: the hold was added at this moment
	Returned                   // of a call that leaves: the hold was added, and the engine gives it back
)

// Send notes that the nested hold is about to be sent, once for each try. It reports false if it must not
// be: the ownership has ended, or the call has left. A call that has left must not send. Otherwise:
//
//  1. The caller leaves before its command was sent.
//  2. The same goroutine enters the lock by another call.
//  3. The first command is sent, and counts the goroutine twice.
//
// The turn keeps the count from rising until the answer.
func (x *Reentry) Send(now time.Time) bool {
	o := x.Of
	if o.state != Live || x.gone {
		return false
	}
	o.lease.field.counted(o, true)
	o.lease.asked(x.Lease, x.Kind, now) // an unconfirmed release has to reckon with this lease already
	x.Count, x.Ask, x.sent = len(o.holds)+1, o.extension(x.Lease, now), now
	return true
}

// extension returns the lease that a nested call or a move may ask for. It is 0 once WithMaxHold has
// ended renewal: a longer lease would be a renewal too.
func (o *Ownership) extension(lease time.Duration, now time.Time) time.Duration {
	if limit := o.lease.cfg.MaxHold; limit > 0 && now.Sub(o.since) >= limit {
		return 0
	}
	return lease
}

// Told reports whether Redis was told of the nested hold.
func (x *Reentry) Told() bool { return !x.sent.IsZero() }

// Settle adds the hold, or says why not. failed: the command has no answer, or Redis refused it.
// notOurs: Redis has answered that the owner's field is gone.
func (s *State) Settle(x *Reentry, failed, notOurs bool, now time.Time) Entered {
	o := x.Of
	if x.Told() {
		o.lease.asked(x.Lease, x.Kind, now)
	}
	switch {
	case x.gone && !x.Told():
		return Interrupted // the call left before the command was sent
	case o.state != Live:
		if o.losses == nil {
			return Over
		}
		if x.Told() && !notOurs {
			// The command may have extended the lease: it has run, may have run, or may still run. No
			// call has a hold from it, so a clean-up frees the lock.
			s.cleanUp(o.lease, o.lease.Expiry(now))
		}
		return WasLost
	case failed, x.gone:
		o.lease.extendedForNobody = true
		s.engine.RepairCount(o)
		if failed {
			return NotAdded
		}
		return Interrupted
	case !o.push(x.Kind, watchdog.Validity(x.sent, x.Ask)):
		// The validity ended before the answer came. The call must hear of the loss now, and not after it
		// was told that it holds the lock.
		o.lease.extendedForNobody = true
		s.lost(o, LeaseEnded, now)
		return LostNow
	}
	x.entered = true
	return Added
}

// LeaveReentry ends a nested call that does not wait for its answer any more. If the hold was added at
// this very moment, a call that has reached its limit keeps it. Any other call gives it back.
func (s *State) LeaveReentry(x *Reentry, atLimit bool) Entered {
	x.gone = true
	o := x.Of
	switch {
	case !x.entered:
		return Interrupted
	case o.losses != nil:
		s.Forgo(o, x.Kind) // the caller has got no hold, and will not release one
		return WasLost
	case o.state == Live && atLimit:
		return Kept
	}
	return Returned
}

// Extension is the lengthening of a live ownership's fixed lease on its way.
type Extension struct {
	Of    *Ownership
	Lease time.Duration
	sent  time.Time // of the last try; zero: Redis was told nothing
}

// Told reports whether Redis was told.
func (x *Extension) Told() bool { return !x.sent.IsZero() }

// Send notes that the command is about to be sent, once for each try. It sets the hold count as it is.
func (x *Extension) Send(now time.Time) (count int) {
	o := x.Of
	o.lease.field.counted(o, o.lease.field.nested || len(o.holds) > 1)
	o.lease.asked(x.Lease, HoldKind{Fixed: true}, now)
	x.sent = now
	return len(o.holds)
}

// OverBefore notes that the hold had ended before the answer. If it was lost, the lease may have been made
// longer for nobody.
func (s *State) OverBefore(x *Extension, now time.Time) {
	if x.Of.losses != nil && x.Told() {
		s.cleanUp(x.Of.lease, x.Of.lease.Expiry(now))
	}
}

// NotConfirmed notes that the extension has no confirmation.
func (x *Extension) NotConfirmed() {
	l := x.Of.lease
	l.extendedForNobody = l.extendedForNobody || x.Told()
}

// Extended moves the validity on. It reports false if that had ended before the answer came: then the
// ownership has ended as lost.
func (s *State) Extended(x *Extension, now time.Time) bool {
	o := x.Of
	if o.lease.Watch.Update(o.schedule(watchdog.Validity(x.sent, x.Lease))) {
		return true
	}
	o.lease.extendedForNobody = true
	s.lost(o, LeaseEnded, now)
	return false
}

package lockstate

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Ownership is one owner's time with one lock, from the grant to its end, nested holds included.
//
// All its changes are made by methods of State. The one that makes an ownership an owner starts the watch
// over its lease, and the one that ends that stops the watch.
type Ownership struct {
	Engine Holder // the engine sets it before the ownership is used

	owner string
	token int64
	since time.Time // the grant
	lease *Lease    // its own, or the lease of the ownership before

	holds  []HoldKind // each hold, in order; Redis is told how many
	losses *Losses    // where its holds are counted after a loss
	until  time.Time  // until when it was valid, if it was handed over and its lease lives on

	// Small fields side by side: a hand-off makes an ownership, and every byte counts there.
	mode    Mode
	state   OwnershipState
	refused bool        // Redis has granted it and no call has got it
	one     [1]HoldKind // room for holds: most locks are held once
}

// Holder is the engine's side of an ownership. The State calls it inside its decisions.
type Holder interface {
	// Releasing ends the ctx of each hold. The command that frees the lock, or hands it over, follows.
	Releasing()
	// HandedOver ends the ctx of each hold. The next ownership takes the place of this one.
	HandedOver()
	// Ended ends the ctx of each hold. releasing: Releasing was called before.
	Ended(why Ending, releasing bool)
}

// Ending is how and when an ownership ended.
type Ending struct {
	How    End
	Reason Reason // of a loss
	At     time.Time
}

// End is how an ownership ended.
type End int8

const (
	Released End = iota // or handed over
	Lost
	Closed // abandoned as the Client was closed
)

// Reason is why a lock was lost.
type Reason int8

const (
	LeaseEnded Reason = iota // its validity ended before Redis had confirmed a renewal
	Overridden               // Redis has no field of the owner's any more
)

// HoldKind is what is known of one hold of an ownership.
type HoldKind struct {
	Fixed  bool // it has a fixed lease
	Handle bool // it is a value in its caller's hands: an Unlock must not release it
}

// OwnershipState is a state of an ownership.
type OwnershipState int8

const (
	Live OwnershipState = iota
	Releasing
	Ended
)

// Owner is the owner's field in the lock's hash.
func (o *Ownership) Owner() string { return o.owner }

// Mode is Exclusive or Shared.
func (o *Ownership) Mode() Mode { return o.mode }

// Token is the fencing token; 0 without one.
func (o *Ownership) Token() int64 { return o.token }

// Since is the time of the grant.
func (o *Ownership) Since() time.Time { return o.since }

// Lease is its own, or the lease of the ownership before.
func (o *Ownership) Lease() *Lease { return o.lease }

// Count is how many holds it has.
func (o *Ownership) Count() int { return len(o.holds) }

// State is live, releasing or ended.
func (o *Ownership) State() OwnershipState { return o.state }

// Refused reports whether Redis has granted the lock and no call has got it.
func (o *Ownership) Refused() bool { return o.refused }

// ValidUntil is the instant up to which it may be trusted, or was when it was handed over.
func (o *Ownership) ValidUntil() time.Time {
	if !o.until.IsZero() {
		return o.until
	}
	until := o.lease.ValidUntil()
	if x := o.lease.shared; x != nil && x.ends != nil && !o.renews() && x.ends[o.owner].Before(until) {
		return x.ends[o.owner]
	}
	return until
}

// renews reports whether any of the holds is a renewed one.
func (o *Ownership) renews() bool { return slices.ContainsFunc(o.holds, renewed) }

// synced reports whether the field in Redis is the owner's own, with its hold count.
func (o *Ownership) synced() bool { return o.lease.field.syncedFor(o) }

// Grant is an answer of Redis that gives an owner the lock.
type Grant struct {
	Token   int64
	Lease   time.Duration // that it gives; 0: the lease that the call asked for
	Sent    time.Time     // before the command was sent; of several tries, the first that may have run
	Late    time.Time     // until when a renewal of an earlier lease may run; zero: none
	Missing error         // replicas are missing: the error of the call

	Redisson bool // of a shared lease: clients of Redisson wait
}

// own makes r's owner an owner of the lock.
func (s *State) own(r *Request, g Grant, now time.Time) *Ownership {
	o := s.engine.Ownership(nil)
	l := o.lease
	l.cfg, l.field, l.late, l.guarded = s.cfg, field{owner: r.Owner, countOf: o}, g.Late, r.Guarded
	lease := r.Lease
	if g.Lease > 0 {
		lease = g.Lease
	}
	l.asked(lease, r.HoldKind, now)
	o.begin(r, now)
	o.token = g.Token
	s.owners = append(s.owners, o)
	l.Watch.Start(o.schedule(watchdog.Validity(g.Sent, lease)))
	return o
}

// Bind gives an ownership its lease, before the State begins it.
func (o *Ownership) Bind(l *Lease) { o.lease = l }

func (o *Ownership) begin(r *Request, now time.Time) {
	o.owner, o.mode, o.since = r.Owner, r.Mode, now
	o.one[0] = r.HoldKind
	o.holds = o.one[:]
}

// schedule is the watchdog's task: to renew while any of the holds is a renewed one. So a fixed lease
// inside a renewed hold does not end the renewal.
func (o *Ownership) schedule(validUntil time.Time) watchdog.Schedule {
	s := watchdog.Schedule{ValidUntil: validUntil, Renew: o.renews()}
	if limit := o.lease.cfg.MaxHold; limit > 0 {
		s.RenewUntil = o.since.Add(limit)
	}
	if o.lease.guarded && !s.Renew {
		s.Renew, s.Guard = true, true
		s.RenewUntil = validUntil.Add(-o.lease.cfg.Lease / 3) // what is left then, nobody shortens
	}
	return s
}

func renewed(kind HoldKind) bool { return !kind.Fixed }

// push adds a hold that Redis has confirmed. It reports false, and adds none, if the validity ended
// before the answer came: then the watchdog is about to report the loss.
func (o *Ownership) push(kind HoldKind, validUntil time.Time) bool {
	o.holds = append(o.holds, kind)
	if !o.lease.Watch.Update(o.schedule(validUntil)) {
		o.holds = o.holds[:len(o.holds)-1]
		return false
	}
	return true
}

// pop removes the last hold of that kind. If it was the last of all, pop begins the release.
func (o *Ownership) pop(kind HoldKind, now time.Time) {
	o.holds, _ = without(o.holds, kind)
	if len(o.holds) == 0 {
		o.beginRelease(now)
		return
	}
	o.lease.Watch.Update(o.schedule(o.lease.ValidUntil()))
}

// toUnlock is the kind of the hold that an Unlock releases: the last one that is not in its caller's
// hands. It reports false if there is none.
func toUnlock(holds []HoldKind) (kind HoldKind, found bool) {
	for _, kind := range slices.Backward(holds) {
		if !kind.Handle {
			return kind, true
		}
	}
	return HoldKind{}, false
}

// without removes the last hold of that kind. An Unlock releases the last hold that is in no caller's hands, of
// whatever kind. So it may have taken the one of a call that gives its own back: then without removes another such
// hold. Otherwise the owner would be left with a hold that no caller has. It reports false if there is none.
func without(holds []HoldKind, kind HoldKind) (rest []HoldKind, found bool) {
	rest, found = withoutLast(holds, func(k HoldKind) bool { return k == kind })
	if !found && !kind.Handle {
		rest, found = withoutLast(holds, func(k HoldKind) bool { return !k.Handle })
	}
	return rest, found
}

// withoutLast removes the last hold for which match is true. It reports false if there is none.
func withoutLast(holds []HoldKind, match func(HoldKind) bool) (rest []HoldKind, found bool) {
	for i, kind := range slices.Backward(holds) {
		if match(kind) {
			return slices.Delete(holds, i, i+1), true
		}
	}
	return holds, false
}

// beginRelease ends renewal, before the release is sent: a renewal must never outlive its lock.
func (o *Ownership) beginRelease(now time.Time) {
	o.state = Releasing
	o.lease.reach = o.lease.Expiry(now)
	o.lease.Watch.Stop()
	o.Engine.Releasing()
}

// handTo ends an ownership and makes next the owner, which goes on with the same lease. The ownership was
// valid until the instant until.
func (s *State) handTo(o, next *Ownership, until time.Time) {
	o.state, o.until = Ended, until
	s.owners[slices.Index(s.owners, o)] = next
	o.Engine.HandedOver()
}

// end takes the lock away from an owner, in this Client only. The caller goes on with what follows:
// the next waiter's attempt, or the hand-off to that waiter.
func (s *State) end(o *Ownership, why Ending) {
	releasing := o.state == Releasing
	if !releasing {
		o.lease.Watch.Stop()
	}
	o.state = Ended
	if i := slices.Index(s.owners, o); i >= 0 {
		s.owners = slices.Delete(s.owners, i, i+1)
	}
	if o.Root() {
		s.shared = nil
	}
	o.Engine.Ended(why, releasing)
}

// EndClosed ends an ownership whose release cannot be sent any more, as the Client is closed.
func (s *State) EndClosed(o *Ownership, now time.Time) { s.end(o, Ending{How: Closed, At: now}) }

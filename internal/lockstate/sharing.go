package lockstate

import (
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

const (
	// freshFor is how long the Client admits readers on Redis' last word. A ForceUnlock, or a writer of
	// another Client, is heard of that much later.
	freshFor = 10 * time.Millisecond

	// maxBesideRedisson and besideRedissonFor bound the readers that a shared lease admits while waiters of
	// Redisson listen. They know no barrier, and get the lock only when no reader is left.
	maxBesideRedisson = 16
	besideRedissonFor = 100 * time.Millisecond
)

// sharedLease is one lease that Shared owners of this Client have together.
//
// The root is the ownership that Redis knows: its field is the one that the requests name (Request.SharedField). It
// is in State.owners, and its lease is watched. The readers are ownerships on the same lease, of which Redis
// knows nothing. The root lives while a reader does; the last reader's release releases it.
type sharedLease struct {
	root    *Ownership
	readers map[string]*Ownership // by owner; all are live
	ends    map[string]time.Time  // by owner: when the last of its fixed leases ends; nil: there is none

	confirmed time.Time // when Redis last said that the Client may admit readers
	admitted  int       // readers since the grant
	redisson  bool      // by Redis' last answer, clients of Redisson wait
	ending    bool      // it admits no reader any more, so that they get the lock
}

// Field is the field that the call's owner gets in the lock's hash.
func (r *Request) Field() string {
	if r.SharedField != "" {
		return r.SharedField
	}
	return r.Owner
}

// Root is the ownership that Redis knows of a lease with many owners; nil: the lease has one owner.
func (l *Lease) Root() *Ownership {
	if l.shared == nil {
		return nil
	}
	return l.shared.root
}

// Reader reports whether the ownership has its lease together with others, and Redis knows nothing of it.
func (o *Ownership) Reader() bool { return o.lease.shared != nil && o.lease.shared.root != o }

// Root reports whether the ownership is one of many owners' lease. No caller has it.
func (o *Ownership) Root() bool { return o.lease.shared != nil && o.lease.shared.root == o }

// Readers are the owners of the shared lease, by name.
func (s *State) Readers() []*Ownership {
	if s.shared == nil {
		return nil
	}
	return s.shared.sorted()
}

func (x *sharedLease) sorted() (all []*Ownership) {
	for _, owner := range slices.Sorted(maps.Keys(x.readers)) {
		all = append(all, x.readers[owner])
	}
	return all
}

// Joins reports whether a waiter's attempt is to ask for the shared lease that the Client has, and not for one that
// it has not.
func (s *State) Joins(w *Waiter) bool { return w.SharedField != "" && s.shared != nil }

// mayAdmit reports whether a call is admitted to the shared lease without a command. A waiter that wants the lock
// alone is not overtaken.
func (s *State) mayAdmit(r *Request, now time.Time) bool {
	return r.SharedField != "" && s.shared != nil && s.waiting.exclusive == 0 &&
		now.Sub(s.shared.confirmed) < freshFor && s.open(now)
}

// open reports whether the shared lease admits readers, if Redis does.
func (s *State) open(now time.Time) bool {
	x := s.shared
	if x.redisson && (x.admitted >= maxBesideRedisson || now.Sub(x.root.since) >= besideRedissonFor) {
		x.ending = true
	}
	return x.root.state == Live && !x.ending && !s.closing &&
		watchdog.Left(x.root.lease.ValidUntil(), now) >= s.cfg.Lease/3
}

// admit makes r's owner an owner on the shared lease.
func (s *State) admit(r *Request, now time.Time) *Ownership {
	x := s.shared
	o := s.engine.Ownership(x.root.lease)
	o.begin(r, now)
	x.readers[o.owner] = o
	x.admitted++
	return o
}

// admitWaiting admits the first waiters that need no command of their own.
func (s *State) admitWaiting(now time.Time) {
	for w := s.waiting.first; w != nil && s.shared != nil; w = s.waiting.first {
		if w.SharedField == "" || !s.open(now) {
			return
		}
		w.admitted = true
		s.grant(w, s.admit(&w.Request, now))
	}
}

// grantShared settles an attempt for the shared lease that Redis has granted, or confirmed. The ownership is nil
// if there is nothing to release.
func (s *State) grantShared(w *Waiter, g Grant, now time.Time) (*Ownership, Refusal) {
	s.busy, s.arrival, s.grantees = false, 0, nil
	s.outage.answers++
	fresh := s.shared == nil
	if fresh {
		s.share(w, g, now)
	} else if !s.confirmShared(g, now) {
		s.queueAgain(w)
		return nil, Again
	}
	s.shared.confirmed, s.shared.redisson = now, g.Redisson
	root := s.shared.root
	refusal := s.refusal(root, w, g, now)
	if refusal == Accepted {
		o := s.admit(&w.Request, now)
		s.grant(w, o)
		s.admitWaiting(now)
		s.promote()
		return o, Accepted
	}
	if refusal == CallLeft {
		s.admitWaiting(now)
	}
	if len(s.shared.readers) > 0 {
		s.promote()
		return nil, refusal
	}
	root.refused = true
	root.beginRelease(now)
	return root, refusal
}

// share makes the root of a shared lease that Redis has granted to a waiter.
func (s *State) share(w *Waiter, g Grant, now time.Time) {
	r := w.Request
	r.Owner, r.HoldKind = r.SharedField, HoldKind{}
	root := s.own(&r, g, now)
	s.shared = &sharedLease{root: root, readers: make(map[string]*Ownership)}
	root.lease.shared = s.shared
	s.engine.Shares(root)
}

// confirmShared moves the validity of the shared lease on, which a waiter's attempt has made longer. It reports false
// if the lease has ended meanwhile, or is being released.
func (s *State) confirmShared(g Grant, now time.Time) bool {
	root := s.shared.root
	if root.state != Live {
		return false // its release is sent next, and takes away the field that the attempt has found
	}
	root.lease.asked(s.cfg.Lease, HoldKind{}, now)
	if !root.lease.Watch.Update(root.schedule(watchdog.Validity(g.Sent, s.cfg.Lease))) {
		s.lost(root, LeaseEnded, now)
		return false
	}
	return true
}

// queueAgain takes the lead from a waiter until the shared lease is released. Then it may lead again.
func (s *State) queueAgain(w *Waiter) {
	if w.state == Leading {
		w.state = Queued
	}
	s.promote()
}

// NoSharedLease settles an attempt that found no field of the shared lease: the readers have lost it.
func (s *State) NoSharedLease(w *Waiter, now time.Time) {
	s.CommandEnded()
	s.outage.answers++
	s.busy = false
	if s.shared != nil && s.shared.root.state == Live {
		s.lost(s.shared.root, Overridden, now)
	}
	s.queueAgain(w)
	s.leaveRegistry()
}

// nest adds a hold to a reader. Redis knows the lease already. It reports false if that is over.
func (s *State) nest(o *Ownership, r *Request, now time.Time) bool {
	if watchdog.Left(o.lease.ValidUntil(), now) <= 0 {
		s.lost(o, LeaseEnded, now)
		return false
	}
	o.holds = append(o.holds, r.HoldKind)
	if r.Fixed {
		s.EndAfter(o, r.Lease, now)
	}
	return true
}

// EndAfter makes the fixed leases of a reader last for d from now, if they are not longer. They bound its time once
// it has no renewed hold any more.
func (s *State) EndAfter(o *Ownership, d time.Duration, now time.Time) {
	x := o.lease.shared
	if x.ends == nil {
		x.ends = make(map[string]time.Time)
	}
	if end := now.Add(d); end.After(x.ends[o.owner]) {
		x.ends[o.owner] = end
	}
	if !o.renews() {
		s.engine.EndAt(o, x.ends[o.owner])
	}
}

// FixedHoldsOver ends a reader that has fixed leases only, if the last of them is over. It reports whether it has.
func (s *State) FixedHoldsOver(o *Ownership, now time.Time) bool {
	if o.state != Live || o.renews() || now.Before(o.lease.shared.ends[o.owner]) {
		return false
	}
	x := o.lease.shared
	s.remember(o, x.ends[o.owner])
	s.endReader(o, Ending{How: Lost, Reason: LeaseEnded, At: now})
	if len(x.readers) == 0 {
		s.cleanUp(x.root.lease, x.root.lease.Expiry(now))
		s.end(x.root, Ending{How: Released, At: now})
		s.promote()
	}
	return true
}

// releaseReader takes a hold from a reader.
func (s *State) releaseReader(o *Ownership, kind HoldKind, now time.Time) Step {
	renewed := o.renews()
	if o.holds, _ = without(o.holds, kind); len(o.holds) > 0 {
		if renewed && !o.renews() {
			s.engine.EndAt(o, o.lease.shared.ends[o.owner])
		}
		return Local
	}
	s.endReader(o, Ending{How: Released, At: now})
	if x := o.lease.shared; len(x.readers) == 0 {
		x.root.beginRelease(now)
		return Free
	}
	return Local
}

// endReader ends a reader in this Client. Redis keeps the lease for the others.
func (s *State) endReader(o *Ownership, why Ending) {
	o.until = o.ValidUntil()
	o.state = Ended
	delete(o.lease.shared.readers, o.owner)
	delete(o.lease.shared.ends, o.owner)
	o.Engine.Ended(why, false)
}

// endReaders ends all readers of a shared lease that has ended.
func (s *State) endReaders(x *sharedLease, why Ending) {
	for _, o := range x.sorted() {
		if why.How == Lost {
			s.remember(o, o.ValidUntil())
		}
		s.endReader(o, why)
	}
}

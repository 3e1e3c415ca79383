package lockstate

import (
	"slices"
	"time"
)

// Owner returns the ownership of an owner that is live or being released, or nil.
func (s *State) Owner(owner string) *Ownership {
	for _, o := range s.owners {
		if o.owner == owner {
			return o
		}
	}
	if s.shared != nil {
		return s.shared.readers[owner]
	}
	return nil
}

// Holder returns the ownership that has the lock alone, live or being released. It is nil if there is
// none, or the owners share the lock.
func (s *State) Holder() *Ownership {
	if len(s.owners) == 1 && s.owners[0].mode == Exclusive {
		return s.owners[0]
	}
	return nil
}

// Owners are the ownerships that are live or being released. Of a shared lease it is the root. The caller must not
// change the slice.
func (s *State) Owners() []*Ownership { return s.owners }

// Ahead returns an ownership that a call in that mode has to wait for, or nil. busy: the Client itself knows that the
// call has to wait.
func (s *State) Ahead(wanted Mode) (o *Ownership, busy bool) {
	o = s.ahead(wanted)
	return o, s.busy || o != nil
}

func (s *State) ahead(wanted Mode) *Ownership {
	for _, o := range s.owners {
		if Conflicts(o.mode, wanted) {
			return o
		}
	}
	return nil
}

// aheadOf is ahead for a call. The call also waits for an ownership of its own owner, which is being released:
// the release would free the field that the call was granted. It does not wait for the Exclusive ownership in
// which it wants to be Shared.
func (s *State) aheadOf(r *Request) *Ownership {
	for _, o := range s.owners {
		if o.owner == r.Owner || Conflicts(o.mode, r.Mode) && !o.admits(r) {
			return o
		}
	}
	return nil
}

// keptBy returns the ownership that keeps a call from asking Redis, or nil. A call that wants to be Exclusive asks
// although owners of this Client are Shared: Redis has to know that it waits, so that no other Client's owners
// are admitted before it. Redis answers busy until the last of them has released.
func (s *State) keptBy(r *Request) *Ownership {
	for _, o := range s.owners {
		if o.owner == r.Owner || o.mode == Exclusive && !o.admits(r) {
			return o
		}
	}
	if s.releasesField(r.SharedField) || r.SharedField != "" && s.shared != nil && s.shared.ending {
		return s.shared.root
	}
	return nil
}

// releasesField reports whether the shared lease with that field is being released.
func (s *State) releasesField(field string) bool {
	return field != "" && s.shared != nil && s.shared.root.state == Releasing
}

// admits reports whether r's owner has that ownership, which is Exclusive, and wants to be Shared inside it.
func (o *Ownership) admits(r *Request) bool {
	return o.state == Live && o.mode == Exclusive && r.Mode == Shared && o.owner == r.Sibling
}

// sibling returns the ownership that r's owner has in the other mode, or nil.
func (s *State) sibling(r *Request) *Ownership {
	if r.Sibling == "" {
		return nil
	}
	return s.Owner(r.Sibling)
}

// downgrades reports whether r's owner is Exclusive and wants to be Shared, too.
func (s *State) downgrades(r *Request) bool {
	o := s.sibling(r)
	return o != nil && o.admits(r)
}

// alone reports whether an ownership is the only one.
func (s *State) alone(o *Ownership) bool { return len(s.owners) == 1 && s.owners[0] == o }

// exclusive reports whether an owner has the lock alone.
func (s *State) exclusive() bool {
	return slices.ContainsFunc(s.owners, func(o *Ownership) bool { return o.mode == Exclusive })
}

// HolderOf returns the ownership that goes on with a lease, unless it has ended.
func (s *State) HolderOf(l *Lease) *Ownership {
	for _, o := range s.owners {
		if o.lease == l {
			return o
		}
	}
	return nil
}

// StandsFor reports whether the owner has the lock, or Redis may have its field for an owner that does.
func (s *State) StandsFor(owner string) bool {
	return slices.ContainsFunc(s.owners, func(o *Ownership) bool {
		return o.owner == owner || o.lease.field.standsFor(owner)
	})
}

// Silent reports whether Redis has not answered this Client for so long that the Client does not know any
// more who holds the lock. The question may have been an attempt, or a release of this Client's.
func (s *State) Silent(now time.Time) bool {
	if slices.ContainsFunc(s.owners, func(o *Ownership) bool { return o.state == Live }) {
		return false // an owner of this Client holds the lock, as Redis has confirmed
	}
	return s.outage.silent(now)
}

package lockstate

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Sync is what makes the field in Redis the holder's own, with its hold count.
type Sync struct {
	Step  SyncStep
	Owner *Ownership // of SendOne
	Move  Move
}

// SyncStep says which command.
type SyncStep int8

const (
	Superseded SyncStep = iota // none: the ownership is not live any more
	Synced                     // none: the field is the holder's
	SendOne                    // the field has the hold count of an earlier ownership: it is 1
	SendMove                   // the field is another owner's
)

// Move is a command that moves the field of a lease.
type Move struct {
	Lease    *Lease
	From, To string
	Unknown  bool      // an earlier try of this move may have run, or may still
	Sent     time.Time // when the first try was sent
}

// Unsynced reports whether the holder's field in Redis is another owner's, or has another's hold count.
func (s *State) Unsynced() bool {
	o := s.Holder()
	return o != nil && o.state == Live && !o.synced()
}

// Following reports whether the field is to follow the holder still.
func (s *State) Following() bool { return s.Unsynced() && !s.closing }

// NextSync returns the next command that syncs the field of an ownership, or of the present holder if that
// is nil. The engine has the turn, sends it, and calls CountSent or Moved.
func (s *State) NextSync(o *Ownership, now time.Time) Sync {
	if o == nil {
		o = s.Holder()
	}
	switch {
	case o == nil, o.state != Live:
		return Sync{Step: Superseded}
	case o.synced():
		return Sync{Step: Synced}
	}
	l := o.lease
	if !l.field.moving() && l.field.owner == o.owner {
		return Sync{Step: SendOne, Owner: o}
	}
	unknown := l.field.moving() // that move may have run, or may still: it comes first
	if !unknown {
		l.field.beginMove(o.owner, now)
		l.Watch.Retarget()
	}
	return Sync{Step: SendMove, Move: Move{
		Lease: l, From: l.field.owner, To: l.field.next, Unknown: unknown, Sent: l.field.moveSent,
	}}
}

// CountIsOne notes that Redis has confirmed a hold count of 1 for an ownership.
func (o *Ownership) CountIsOne() { o.lease.field.counted(o, false) }

// Moved settles a move. before: a try that was not answered may have run. failed: there is no answer, or
// Redis has refused.
func (s *State) Moved(m *Move, failed, before bool, e Elsewhere, now time.Time) {
	l := m.Lease
	l.asked(s.cfg.Lease, HoldKind{}, now)
	switch {
	case !failed:
		l.field.moved()
		s.budget.learn(e, now)
	case !before && !m.Unknown:
		l.field.notMoved()
	default:
		return
	}
	l.Watch.Retarget()
	if failed {
		return
	}
	// Counted from the first try that may have run: a second one finds the field moved and leaves the TTL
	// as it is.
	if o := s.HolderOf(l); o != nil && o.state == Live && o.extension(s.cfg.Lease, now) > 0 {
		l.Watch.Update(o.schedule(watchdog.Validity(l.field.moveSent, s.cfg.Lease)))
	}
}

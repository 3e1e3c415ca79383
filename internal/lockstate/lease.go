package lockstate

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Watch is the watchdog's watch over one lease. The watchdog has it exactly while an ownership of the
// lease is live.
type Watch interface {
	Start(watchdog.Schedule)
	// Update changes the schedule. It reports false if the validity had ended before: then the watchdog
	// is about to report the loss.
	Update(watchdog.Schedule) bool
	Retarget()
	// Stop ends the watch. It does not stop a renewal in flight, which may still run.
	Stop()
	ValidUntil() time.Time
}

// Lease is what Redis keeps for this Client: the key with its time to live, and the field of one of the
// Client's owners. Each ownership has a lease of its own, with one exception: a write-behind hand-off
// gives the lease of the owner before to the next one, and the field is synced later (sync.go).
type Lease struct {
	Watch Watch // the engine sets it before the lease is used

	cfg   *Config
	field field // the entry in the hash

	reach             time.Time // until when commands, renewals excepted, may keep the key alive
	renewed           bool      // renewals were sent, or may have been
	late              time.Time // until when a renewal of an earlier lease may lengthen this one
	extendedForNobody bool      // a command may have made the lease longer, and no call has a hold from it
	guarded           bool      // another client may shorten the key's time to live
	long              bool      // a command asked for more than the Client's lease

	shared *sharedLease // nil: the lease has one owner

	parting *Parting // how its last ownership leaves the lock, if not as usual; set before it is released
}

// Parting is how an ownership leaves a lock that nobody is to have for a while.
type Parting struct {
	Nobody string    // the field that takes the place of the owner's
	Until  time.Time // when Redis is to free the lock

	expires time.Time // when the owner's field is gone without a command
}

// Left is how long nobody is to have the lock still; 0 without a parting.
func (p *Parting) Left(now time.Time) time.Duration {
	if p == nil {
		return 0
	}
	return max(0, p.Until.Sub(now))
}

// Parting is how the last ownership of the lease leaves the lock; nil: as usual.
func (l *Lease) Parting() *Parting { return l.parting }

// Field returns the owner whose field Redis has, and the next owner if a command that moves the field has
// an unknown outcome. The field of either may be there then.
func (l *Lease) Field() (owner, next string) { return l.field.owner, l.field.next }

// Reach is until when commands, renewals excepted, may keep the key alive.
func (l *Lease) Reach() time.Time { return l.reach }

// ValidUntil is the instant up to which the lease may be trusted.
func (l *Lease) ValidUntil() time.Time { return l.Watch.ValidUntil() }

// asked notes that a command asks Redis for that lease, for a hold of that kind. By now Redis has run
// the command or, if there is no answer, as a rule it will have. It counts the lease from when it
// does.
func (l *Lease) asked(lease time.Duration, kind HoldKind, now time.Time) {
	if reach := now.Add(lease + watchdog.Drift(lease)); reach.After(l.reach) {
		l.reach = reach
	}
	l.renewed = l.renewed || !kind.Fixed
	l.long = l.long || lease > l.cfg.Lease
}

// Expiry is when Redis removes the key if no release comes. It is later than the validity, as the
// last renewals may have run without an answer.
func (l *Lease) Expiry(now time.Time) time.Time {
	renewal := now // the last renewal that may have run
	if !l.renewed && l.late.Before(renewal) {
		renewal = l.late
	}
	if last := l.renewedAt(renewal); last.After(l.reach) {
		return last
	}
	return l.reach
}

// renewedAt is when a lease ends that is renewed at t.
func (l *Lease) renewedAt(t time.Time) (expires time.Time) {
	return t.Add(l.cfg.Lease + watchdog.Drift(l.cfg.Lease))
}

// cleanUp frees the lease in the background, whichever of its fields Redis has.
func (s *State) cleanUp(l *Lease, until time.Time) {
	for _, owner := range l.field.owners() {
		s.engine.CleanUp(owner, nil, until)
	}
}

// cleanUpRelease goes on in the background with a release that was not confirmed.
func (s *State) cleanUpRelease(l *Lease) {
	if l.parting == nil {
		s.cleanUp(l, l.reach)
		return
	}
	// Not until the end of what was asked for, which may be years from now: the owner's field is there no
	// longer than its lease.
	for _, owner := range l.field.owners() {
		s.engine.CleanUp(owner, l.parting, l.parting.expires)
	}
}

// cleanUpAtEnd frees a fixed lease that a renewal of an earlier lease may have made longer. It does
// so once the fixed lease is over in Redis too, and not before.
func (s *State) cleanUpAtEnd(l *Lease) {
	if until := l.renewedAt(l.late); until.After(l.reach) {
		s.engine.FreeAt(l, l.reach, until)
	}
}

// FixedLeaseOver frees a lease for cleanUpAtEnd.
func (s *State) FixedLeaseOver(l *Lease, now time.Time) { s.cleanUp(l, l.renewedAt(now)) }

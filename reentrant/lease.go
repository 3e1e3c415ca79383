package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// lease is what Redis keeps for this Client: the key with its time to live, and the field of one of
// the Client's owners. Each ownership has a lease of its own, with one exception: a write-behind
// hand-off gives the lease of the owner before to the next one, and the field is synced later
// (fieldsync.go).
//
// The watchdog watches the lease exactly while its ownership is live.
type lease struct {
	s     *lockState
	watch watchdog.Watch // guarded by the watchdog

	field field // the entry in the hash

	// All guarded by lockState.mu.
	reach             time.Time // until when commands, renewals excepted, may keep the key alive
	renewed           bool      // renewals were sent, or may have been
	late              time.Time // until when a renewal of an earlier lease may lengthen this one
	extendedForNobody bool      // a command may have made the lease longer, and no call has a hold from it
	long              bool      // a command asked for more than the Client's lease

	// About the last ownership of this lease, which ends with the lease.
	by      context.Context // of the call that ended it, for events; nil: none; not written after its end
	parting *parting        // how it leaves the lock, if not as usual (linger.go); set before releasing
}

var _ watchdog.Handler = (*lease)(nil)

// asked notes that a command asks Redis for that lease, for a hold of that kind. By now Redis has run
// the command or, if there is no answer, as a rule it will have. It counts the lease from when it
// does.
func (l *lease) asked(lease time.Duration, kind holdKind) {
	if reach := time.Now().Add(lease + watchdog.Drift(lease)); reach.After(l.reach) {
		l.reach = reach
	}
	l.renewed = l.renewed || !kind.fixed
	l.long = l.long || lease > l.s.c.cfg.lease
}

// expiry is when Redis removes the key if no release comes. It is later than the validity, as the
// last renewals may have run without an answer.
func (l *lease) expiry() time.Time {
	renewal := time.Now() // the last renewal that may have run
	if !l.renewed && l.late.Before(renewal) {
		renewal = l.late
	}
	if last := l.renewedAt(renewal); last.After(l.reach) {
		return last
	}
	return l.reach
}

func (l *lease) renewedAt(t time.Time) (expires time.Time) {
	lease := l.s.c.cfg.lease
	return t.Add(lease + watchdog.Drift(lease))
}

func (l *lease) validUntil() time.Time { return l.s.c.watchdog.ValidUntil(&l.watch) }

// target is what the watchdog must find in Redis.
func (l *lease) target() watchdog.Target {
	return watchdog.Target{Key: l.s.keys.Lock, Owner: l.field.owner, Next: l.field.next}
}

// cleanUp frees the lease in the background, whichever of its fields Redis has. The caller has
// lockState.mu.
func (l *lease) cleanUp(expires time.Time) {
	for _, owner := range l.field.owners() {
		l.s.cleanUp(owner, expires)
	}
}

// cleanUpAtEnd frees a fixed lease that a renewal of an earlier lease may have made longer. It does
// so once the fixed lease is over in Redis too, and not before. The caller has lockState.mu.
func (l *lease) cleanUpAtEnd() {
	s, end := l.s, l.reach
	if !l.renewedAt(l.late).After(end) {
		return
	}
	s.c.cleanups.add(&cleanup{s: s, at: end, until: l.renewedAt(l.late), spare: true, try: func(context.Context) (done bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.cleanUp(l.renewedAt(time.Now()))
		return true
	}})
}

// renewalLate notes that a renewal may run after the end of its ownership. Renewals do not wait for
// the command turn and know no epoch.
func (c *Client) renewalLate() {
	until := time.Now().Add(epochTTL)
	c.lateUntil.Store(&until)
}

// renewalsMayBeLate returns until when such a renewal may still run and make a lease longer that
// begins now. It would do so only if the lock and the owner are the same. The Client does not look at
// that: an error costs no more than a command at the end of a short fixed lease that its owner does
// not release.
func (c *Client) renewalsMayBeLate() (until time.Time) {
	if late := c.lateUntil.Load(); late != nil && time.Now().Before(*late) {
		return *late
	}
	return time.Time{}
}

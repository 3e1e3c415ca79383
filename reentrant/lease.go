package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// lease is what stands in Redis for this Client: the key with its time to live, and the
// field of one of its owners. An ownership has a lease of its own, but for the one that a
// write-behind hand-off has made: it goes on with its predecessor's, whose field
// follows (fieldsync.go).
//
// It is watched by the watchdog exactly while its ownership is live.
type lease struct {
	s     *lockState
	watch watchdog.Watch // guarded by the watchdog

	// All guarded by lockState.mu; field and next change with the turn only.
	field             string     // the owner whose field stands in the hash
	next              string     // the owner to whom the field is being moved, and whose it may be already; empty if it is not
	moveSent          time.Time  // when that was first asked for
	countOf           *ownership // whose tenure the field's hold count belongs to
	nested            bool       // and that count was or may have been another than 1
	reach             time.Time  // until when the key may live by the commands for it, renewals excepted
	renewed           bool       // renewals were or may have been sent
	late              time.Time  // until when a renewal of an earlier lease may make this one longer
	extendedForNobody bool       // reach was moved on by a command that nobody has a hold from
	long              bool       // reach was moved by more than the Client's lease

	// Of the last of its ownerships, which ends with it.
	by      context.Context // of the call that has ended it, for what is told of it; nil: none has; not written after its end
	parting *parting        // how it leaves the lock, if not in the ordinary way (linger.go); set before state releasing
}

var _ watchdog.Handler = (*lease)(nil)

// asked notes a command with that lease, for a hold of that kind. Redis has run it by now or, when there is no
// answer, will have as a rule; it counts from when it does.
func (l *lease) asked(lease time.Duration, kind holdKind) {
	if reach := time.Now().Add(lease + watchdog.Drift(lease)); reach.After(l.reach) {
		l.reach = reach
	}
	l.renewed = l.renewed || !kind.fixed
	l.long = l.long || lease > l.s.c.cfg.lease
}

// expiry is when the key is gone without a release: later than the validity, as
// the last renewals may have run without an answer.
func (l *lease) expiry() time.Time {
	renewal := time.Now() // the last that may have run
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

// target is what the watchdog is to find in Redis.
func (l *lease) target() watchdog.Target {
	return watchdog.Target{Key: l.s.keys.Lock, Owner: l.field, Next: l.next}
}

// standsFor reports whether the field in Redis is, or may be, that owner's.
func (l *lease) standsFor(owner string) bool { return l.field == owner || l.next == owner }

// cleanUp frees the lease in the background, whichever of its fields there is. The caller
// has lockState.mu.
func (l *lease) cleanUp(expires time.Time) {
	l.s.cleanUp(l.field, expires)
	if l.next != "" {
		l.s.cleanUp(l.next, expires)
	}
}

// cleanUpAtEnd frees, once its time is over in Redis too and not before, a fixed lease that a renewal
// of an earlier one may have made longer. The caller has lockState.mu.
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

// renewalLate notes that a renewal may run after the end of its ownership: renewals do not wait
// for their turn among the commands of a lock and know no epoch.
func (c *Client) renewalLate() {
	until := time.Now().Add(epochTTL)
	c.lateUntil.Store(&until)
}

// renewalsMayBeLate returns until when a lease that begins now may be made longer by such a renewal.
// It would be if the lock and the owner are the same; that is not looked at, as it costs no more
// than a command at the end of a short fixed lease that nobody releases.
func (c *Client) renewalsMayBeLate() (until time.Time) {
	if late := c.lateUntil.Load(); late != nil && time.Now().Before(*late) {
		return *late
	}
	return time.Time{}
}

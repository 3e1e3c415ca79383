package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/watchdog"
)

// lease is a lease of a lock state, with its watch.
type lease struct {
	s     *lockState
	core  lockstate.Lease // guarded by lockState.mu
	watch watchdog.Watch  // guarded by the watchdog

	// by is the ctx of the call that ended the last ownership of this lease, for events; nil: none. It is
	// guarded by lockState.mu, and not written after the end of the ownership.
	by context.Context

	// leaver is the last owner of a shared lease, whose release ends it; nil: none. It is guarded as by is.
	leaver *ownership
}

var (
	_ lockstate.Watch  = (*lease)(nil)
	_ watchdog.Handler = (*lease)(nil)
)

// leaseOf is the lease around a lease of package lockstate.
func leaseOf(l *lockstate.Lease) *lease { return l.Watch.(*lease) }

// target is what the watchdog must find in Redis.
func (l *lease) target() watchdog.Target {
	owner, next := l.core.Field()
	return watchdog.Target{Key: l.s.keys.Lock, Owner: owner, Next: next, Reads: l.s.reads(owner)}
}

// Start implements [lockstate.Watch].
func (l *lease) Start(until watchdog.Schedule) { l.s.c.watchdog.Add(&l.watch, l.target(), l, until) }

// Update implements [lockstate.Watch].
func (l *lease) Update(until watchdog.Schedule) bool { return l.s.c.watchdog.Update(&l.watch, until) }

// Retarget implements [lockstate.Watch].
func (l *lease) Retarget() { l.s.c.watchdog.Retarget(&l.watch, l.target()) }

// Stop implements [lockstate.Watch]. If the same owner has the lock again when Redis runs a renewal in
// flight, the new lease becomes longer. So Stop notes that it may come.
func (l *lease) Stop() {
	l.s.c.watchdog.Remove(&l.watch)
	if l.watch.Unanswered() {
		l.s.c.renewalLate()
	}
}

// ValidUntil implements [lockstate.Watch].
func (l *lease) ValidUntil() time.Time { return l.s.c.watchdog.ValidUntil(&l.watch) }

// Renewed implements [watchdog.Handler].
func (l *lease) Renewed(validUntil time.Time) {
	c := l.s.c
	if c.mute {
		return // 100,000 held locks are 100,000 calls a period
	}
	l.s.mu.Lock()
	of := l.s.state.HolderOf(&l.core)
	l.s.mu.Unlock()
	if of == nil {
		return
	}
	o := ownershipOf(of)
	mustReturn(func() {
		o.inform(func() {
			c.renewed(Event{Call: o.call, Name: l.s.name, Kind: o.eventKind(), Owner: o.Owner(), ValidUntil: validUntil})
		})
	})
}

// Lost implements [watchdog.Handler].
func (l *lease) Lost(why watchdog.Cause) {
	reason := lockstate.LeaseEnded
	if why == watchdog.CauseNotOwner {
		reason = lockstate.Overridden
	}
	mustReturn(func() { l.s.lose(&l.core, reason) })
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

package watchdog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Watchdog renews leases and reports their loss. Its methods may be called by
// several goroutines at the same time.
type Watchdog struct {
	// Set by New and never changed.
	lease     time.Duration
	renew     RenewFunc
	batch     int
	onFailure func(targets int, err error)
	times     times
	base      time.Time // instants count from here
	// The wall clock's reading at now; other than wallOf in tests only.
	wall   func(now time.Time) time.Time
	ctx    context.Context // of every call of renew; ended by Close
	cancel context.CancelFunc
	wake   chan struct{} // holds one signal: the watchdog's goroutine has to look again
	done   chan struct{} // closed by Close
	gone   chan struct{} // closed when done is closed and no goroutine is left

	calls, renewals, failures, losses atomic.Uint64

	// Used by the watchdog's goroutine only.
	lost []Handler // scratch: the handlers to be told of expiry
	// ahead is by how much the wall clock had outrun the monotonic one at the last scan of expiries.
	// It is less if the wall clock has fallen back since.
	ahead time.Duration

	mu        sync.Mutex // guards what follows, and every Watch
	expiries  timeHeap   // all watches, by validUntil
	renewing  backlog    // the watches that wait for a renewal
	pace      roundTrips // the round trips of the last calls
	inflight  []*call    // calls of renew that have not returned
	replies   []*call    // calls that have returned and are not applied yet
	helpers   int        // helper goroutines, at most maxHelpers, without the overdue ones
	overdue   int        // helpers whose call was given up, at most maxOverdue
	running   int        // goroutines: all helpers and the watchdog's own
	sleepTill instant    // until when the watchdog's goroutine sleeps; awake while it works
	started   bool
	closed    bool
}

// New returns a Watchdog. It starts no goroutine before the first Add. New
// panics if cfg.Lease is not positive or cfg.Renew is nil.
func New(cfg Config) *Watchdog {
	if cfg.Lease <= 0 {
		panic("watchdog: Config.Lease must be positive")
	}
	if cfg.Renew == nil {
		panic("watchdog: Config.Renew must be set")
	}
	if cfg.Batch <= 0 {
		cfg.Batch = 500
	}
	if cfg.Growth <= 0 {
		cfg.Growth = maxGrowth
	}
	w := &Watchdog{
		lease:     cfg.Lease,
		renew:     cfg.Renew,
		batch:     cfg.Batch,
		onFailure: cfg.OnFailure,
		times:     timesFor(cfg.Lease),
		base:      time.Now(),
		wall:      wallOf,
		wake:      make(chan struct{}, 1),
		done:      make(chan struct{}),
		gone:      make(chan struct{}),
		expiries:  timeHeap{which: byExpiry},
		renewing:  newBacklog(),
		pace:      roundTrips{growth: cfg.Growth, most: cfg.Growth},
		sleepTill: awake,
	}
	// Renewals serve every holder and outlive the ctx of each of them. So their ctx has no parent; it
	// ends with Close.
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Add begins to watch a lease. If x is watched already, that registration ends first, as by Remove.
//
// A lease that is added after the command that takes it exists for an instant and is not watched.
// Without such an instant: add it before the command is sent, as a fixed lease with the validity the
// command would give, and use Update when the answer is there. Do not set Renew before the answer: a
// renewal could overtake the command, and its answer would be "not owner".
//
// After Close, x is registered but nothing will be renewed or reported.
func (w *Watchdog) Add(x *Watch, t Target, h Handler, s Schedule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.end(x)
	x.gen++
	x.unanswered.Store(0)
	x.target, x.handler = t, h
	x.validUntil, x.renew, x.guard, x.renewUntil = s.ValidUntil, s.Renew, s.Guard, s.RenewUntil
	w.expiries.set(x, w.endOf(x, now))
	if x.renew {
		w.renewing.set(x, w.renewalAt(x, w.at(now), now))
	}
	if !w.started && !w.closed {
		w.started = true
		w.running++
		go w.run()
		return
	}
	w.wakeFor(x)
}

// Update changes the schedule of a watched lease: after re-entry, or when a nested hold ends.
// ValidUntil only ever moves forwards; a zero or earlier one leaves it. A renewal under way is not
// stopped. The next renewal is planned anew if ValidUntil moved or none was planned: a third of the
// lease from now, or halfway to ValidUntil if that is sooner.
//
// Update returns false, and changes nothing, if x is not watched any more or its validity has passed.
// Unless x was removed, its loss has then been reported or is about to be.
func (w *Watchdog) Update(x *Watch, s Schedule) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !x.watched() || w.passed(x.validUntil, now) {
		return false
	}
	x.renew, x.guard, x.renewUntil = s.Renew, s.Guard, s.RenewUntil
	moved := s.ValidUntil.After(x.validUntil)
	if moved {
		x.validUntil = s.ValidUntil
		w.expiries.set(x, w.endOf(x, now))
	}
	switch {
	case !x.renew:
		w.renewing.remove(x)
	case x.call != nil: // its answer plans the next renewal
	case moved || x.pos[byRenewal] == 0:
		w.renewing.set(x, w.renewalAt(x, w.at(now), now))
		w.wakeFor(x)
	}
	return true
}

// Retarget changes the target of a watched lease. Answers for the old target do not count any more:
// their "not owner" would only say that the lease has moved on. A renewal that was under way is
// planned anew as by Update.
//
// Set a target with Next before the command is sent that moves the lease, and the new owner alone
// when Redis has confirmed it. Retarget does nothing if x is not watched any more.
func (w *Watchdog) Retarget(x *Watch, t Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !x.watched() {
		return
	}
	x.target = t
	x.gen++
	if x.call == nil {
		return
	}
	x.call = nil
	if x.renew {
		now := time.Now()
		w.renewing.set(x, w.renewalAt(x, w.at(now), now))
		w.wakeFor(x)
	}
}

// Remove ends a watch. It returns false if x was not watched: it never was, was removed, or its loss
// has been reported or is being reported right now. If it returns true, Lost will not be called for
// this registration. A renewal that was sent before may still run in Redis afterwards, see
// [Watch.Unanswered].
//
// Remove a lease before the command that gives it up is sent.
func (w *Watchdog) Remove(x *Watch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end(x)
}

// end ends x's registration, if it has one. The mutex must be held.
func (w *Watchdog) end(x *Watch) bool {
	if !w.expiries.remove(x) {
		return false
	}
	w.renewing.remove(x)
	x.gen++
	x.call = nil
	return true
}

// ValidUntil returns until when x may be trusted or, if it is no longer watched, until when it might
// have been trusted. That instant may have passed; see [Passed].
func (w *Watchdog) ValidUntil(x *Watch) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return x.validUntil
}

// Len returns how many leases are watched.
func (w *Watchdog) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.expiries.s)
}

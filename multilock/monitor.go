package multilock

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/watchdog"
)

// monitor is the hold's own goroutine. It notices when the hold is lost. In a quorum it also asks the
// servers who they are, and takes members that are missing. It ends with the hold. The members'
// watchdogs renew the members without it.
func (h *Hold) monitor() {
	defer close(h.done)
	ctx, cancel := context.WithCancel(h.base)
	found := make(chan update, len(h.holds))
	asked := make([]bool, len(h.holds)) // members whose update has not come yet
	working := 0                        // how many these are
	var freeing sync.WaitGroup
	hear := func(n update) {
		working--
		asked[n.at] = false
		if unwanted := h.apply(n); unwanted != nil {
			// The release ends with ctx at the latest, like all that the monitor waits for.
			freeing.Go(func() { h.l.giveBack(ctx, unwanted) })
		}
	}
	defer func() {
		cancel()
		for working > 0 {
			hear(<-found)
		}
		freeing.Wait()
		h.freeAfterLoss()
	}()

	upkeep := h.maintenanceTimer()
	defer upkeep.Stop()
	end := time.NewTimer(0)
	defer end.Stop()
	for {
		until, ok := h.review()
		if !ok {
			return
		}
		end.Reset(time.Until(until))
		select {
		case <-h.stop:
			return
		case <-h.changed:
		case <-end.C:
		case n := <-found:
			hear(n)
		case <-upkeep.C:
			upkeep.Reset(h.l.cfg.tick)
			working += h.maintain(ctx, found, asked)
		}
	}
}

// maintenanceTimer fires when the members of a quorum are to be looked after for the first time, and never for a
// MultiLock of all members.
func (h *Hold) maintenanceTimer() *time.Timer {
	timer := time.NewTimer(h.firstMaintenance())
	if !h.l.quorum {
		timer.Stop()
	}
	return timer
}

// review drops the members whose holds have ended, and returns until when the rest may be trusted. If
// this instant has passed, the hold is lost. review reports false if the hold has ended.
func (h *Hold) review() (until time.Time, ok bool) {
	h.mu.Lock()
	if h.state != held {
		h.mu.Unlock()
		return time.Time{}, false
	}
	var gone []multi.Tenure
	for i := range h.holds {
		if x := &h.holds[i]; x.ended() {
			gone = append(gone, x.drop(context.Cause(x.tenure.Context())))
		}
	}
	until = h.l.trusted(h.holds)
	ok = !until.IsZero() && !watchdog.Passed(until)
	if ok {
		h.last = until
	} else {
		h.lose()
	}
	h.mu.Unlock()
	// These holds have ended, so their release sends nothing. It makes the Clients forget the losses.
	over, cancel := context.WithCancel(h.base)
	cancel()
	for _, t := range gone {
		_ = t.Release(over)
	}
	if !ok {
		h.l.rememberLost(h)
	}
	return until, ok
}

// lose ends the hold as lost, and tells its ctx, its channel and the monitor. The caller has mu, and
// the state is held.
func (h *Hold) lose() {
	now := time.Now()
	if now.Before(h.last) {
		h.last = now
	}
	h.state, h.outer, h.ended = lost, nil, now
	h.err = &LostError{
		Name: h.l.name, Owner: h.owner,
		Valid: h.l.valid(h.holds), Need: h.l.need, Of: len(h.holds),
		Held: now.Sub(h.since), Members: h.l.lossErrors(h.holds),
	}
	h.cancel(h.err)
	close(h.lost) // last: a reader of the channel finds the cause in the ctx
	h.notify()    // wakes the monitor, if another goroutine has noticed the loss
}

// freeWithin is how long the monitor of a lost hold waits until the rest is freed. After that the
// members' Clients go on in the background.
const freeWithin = 5 * time.Second

// freeAfterLoss frees the members that a lost hold still has. Others then need not wait for an owner
// who may never unlock. Fixed leases that have run out are left to end in Redis: some callers use
// them, without an unlock, to keep others out for that long.
func (h *Hold) freeAfterLoss() {
	h.mu.Lock()
	over, rest, renewed := h.state == lost, time.Time{}, h.fixed.IsZero()
	for i := range h.holds {
		if x := &h.holds[i]; x.held() {
			rest = latest(rest, x.tenure.ValidUntil())
		}
	}
	h.mu.Unlock()
	if !over {
		return
	}
	if left := time.Until(rest); !renewed && left <= h.l.cfg.limit {
		timer := time.NewTimer(left + time.Millisecond)
		defer timer.Stop()
		<-timer.C
	}
	ctx, cancel := context.WithTimeout(h.base, freeWithin)
	defer cancel()
	h.l.release(ctx, h.surrender(), len(h.holds))
}

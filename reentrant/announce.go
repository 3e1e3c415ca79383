package reentrant

import "time"

// What is told of a holding begins with Acquired, and ends with exactly one of Released,
// HandedOver, Unconfirmed and Lost.
//
// Acquired is told by the call that got the lock, without a mutex. Meanwhile the holding is
// live, and others may have something to tell: the watchdog of a loss, another goroutine of
// the same owner of a release. They leave it to the one who tells Acquired (inform), who tells
// it afterwards, and nobody waits for an event function that takes its time.

// announce tells by f that a holding has begun, and then what has happened to it meanwhile.
func (h *holding) announce(f func()) {
	defer h.catchUp()
	f()
}

// catchUp tells what happened while another event was told, also if the function for that one
// has panicked.
func (h *holding) catchUp() {
	h.q.mu.Lock()
	if len(h.unheard) == 0 {
		h.unheard, h.announced = nil, true
		h.q.mu.Unlock()
		return
	}
	f := h.unheard[0]
	h.unheard = h.unheard[1:]
	h.q.mu.Unlock()
	defer h.catchUp()
	f()
}

// inform tells by f what has happened to a holding: now, or after its Acquired. Nothing is told
// of one that no call has had.
func (h *holding) inform(f func()) {
	if h.q.c.mute {
		return
	}
	h.q.mu.Lock()
	now := h.announced
	if !now && !h.refused {
		h.unheard = append(h.unheard, f)
	}
	h.q.mu.Unlock()
	if now {
		f()
	}
}

// tellLost is for a holding that has been ended as lost.
func (h *holding) tellLost(err *LostError) {
	c := h.q.c
	c.counters.losses.Add(1)
	e := Event{Ctx: h.lease.by, Name: err.Name, Owner: err.Owner, Held: err.Held, Err: err}
	if c.mute {
		c.observer.lost(e) // it is logged all the same, and comes after nothing
		return
	}
	h.inform(func() { c.observer.lost(e) })
}

// tellOver is for a holding that has been released: err says why there is no confirmation, and is
// nil if there is.
func (h *holding) tellOver(held time.Duration, err error) {
	c := h.q.c
	if c.mute {
		return // before the event is made, which costs two allocations for each release
	}
	e := Event{Ctx: h.lease.by, Name: h.q.name, Owner: h.owner, Held: held, Err: err}
	h.inform(func() {
		if err != nil {
			c.observer.unconfirmed(e)
		} else {
			c.observer.released(e)
		}
	})
}

// tellClosed is for a holding that the Client's end has ended.
func (h *holding) tellClosed() {
	h.q.mu.Lock()
	free := max(0, time.Until(h.lease.expiry()))
	h.q.mu.Unlock()
	h.tellOver(time.Since(h.since), &UnconfirmedError{Name: h.q.name, Owner: h.owner, FreeAfter: free, Err: ErrClosed})
}

// aloud calls f, which calls an event function, on a goroutine that all locks depend on: the watchdog's, or that of the
// subscription. A panic ends the program there. So does runtime.Goexit, which would otherwise end the
// renewal of all locks without a word.
func aloud(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		panic("redlatch: an event function has called runtime.Goexit on a goroutine of the library")
	}()
	f()
	returned = true
}

package reentrant

import "time"

// What is told of an ownership begins with Acquired, and ends with exactly one of Released,
// HandedOver, Unconfirmed and Lost.
//
// Acquired is told by the call that got the lock, without a mutex. Meanwhile the ownership is
// live, and others may have something to tell: the watchdog of a loss, another goroutine of
// the same owner of a release. They leave it to the one who tells Acquired (inform), who tells
// it afterwards, and nobody waits for an event function that takes its time.

// announce tells by f that an ownership has begun, and then what has happened to it meanwhile.
func (o *ownership) announce(f func()) {
	defer o.tellPending()
	f()
}

// tellPending tells what happened while another event was told, also if the function for that one
// has panicked.
func (o *ownership) tellPending() {
	o.s.mu.Lock()
	if len(o.pendingEvents) == 0 {
		o.pendingEvents, o.announced = nil, true
		o.s.mu.Unlock()
		return
	}
	f := o.pendingEvents[0]
	o.pendingEvents = o.pendingEvents[1:]
	o.s.mu.Unlock()
	defer o.tellPending()
	f()
}

// inform tells by f what has happened to an ownership: now, or after its Acquired. Nothing is told
// of one that no call has had.
func (o *ownership) inform(f func()) {
	if o.s.c.mute {
		return
	}
	o.s.mu.Lock()
	now := o.announced
	if !now && !o.refused {
		o.pendingEvents = append(o.pendingEvents, f)
	}
	o.s.mu.Unlock()
	if now {
		f()
	}
}

// tellLost is for an ownership that has been ended as lost.
func (o *ownership) tellLost(err *LostError) {
	c := o.s.c
	c.counters.losses.Add(1)
	e := Event{Ctx: o.lease.by, Name: err.Name, Owner: err.Owner, Held: err.Held, Err: err}
	if c.mute {
		c.observer.lost(e) // it is logged all the same, and comes after nothing
		return
	}
	o.inform(func() { c.observer.lost(e) })
}

// tellOver is for an ownership that has been released: err says why there is no confirmation, and is
// nil if there is.
func (o *ownership) tellOver(held time.Duration, err error) {
	c := o.s.c
	if c.mute {
		return // before the event is made, which costs two allocations for each release
	}
	e := Event{Ctx: o.lease.by, Name: o.s.name, Owner: o.owner, Held: held, Err: err}
	o.inform(func() {
		if err != nil {
			c.observer.unconfirmed(e)
		} else {
			c.observer.released(e)
		}
	})
}

// tellClosed is for an ownership that the Client's end has ended.
func (o *ownership) tellClosed() {
	o.s.mu.Lock()
	free := max(0, time.Until(o.lease.expiry()))
	o.s.mu.Unlock()
	o.tellOver(time.Since(o.since), &UnconfirmedError{Name: o.s.name, Owner: o.owner, FreeAfter: free, Err: ErrClosed})
}

// mustReturn calls f, which calls an event function, on a goroutine that all locks depend on: the watchdog's, or that of the
// subscription. A panic ends the program there. So does runtime.Goexit, which would otherwise end the
// renewal of all locks without a word.
func mustReturn(f func()) {
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

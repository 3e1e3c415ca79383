package reentrant

import "time"

// The events of an ownership begin with Acquired, and end with exactly one of Released, HandedOver,
// Unconfirmed and Lost.
//
// The call that got the lock tells Acquired, without a mutex. Meanwhile the ownership is live, and other
// goroutines may have an event of it: the watchdog a loss, another goroutine of the same owner a release.
// They leave their event to the goroutine that tells Acquired (inform), which tells it afterwards. So no
// goroutine waits for a slow event function.

// announced is what pending points to once Acquired and all pending events were told.
var announced = new([]func())

// announce calls f, which tells that a call has got the ownership. Then it tells what happened meanwhile.
func (o *ownership) announce(call uint64, f func()) {
	o.call = call // before pending says announced: until then no other goroutine reads it
	defer o.tellPending()
	f()
}

// got is the event that the call of w has got the ownership.
func (o *ownership) got(w *waiter, waited time.Duration) Event {
	return Event{
		Ctx: w.ctx, Call: w.number, Name: o.s.name, Kind: o.eventKind(), Owner: o.Owner(), Token: o.Token(), Waited: waited,
	}
}

// tellPending tells what happened while another event was told, also if the function for that event has
// panicked.
func (o *ownership) tellPending() {
	o.s.mu.Lock()
	if o.pending == nil || len(*o.pending) == 0 {
		o.pending = announced
		o.s.mu.Unlock()
		return
	}
	f := (*o.pending)[0]
	*o.pending = (*o.pending)[1:]
	o.s.mu.Unlock()
	defer o.tellPending()
	f()
}

// inform calls f, which tells what has happened to an ownership: now, or after its Acquired. It drops f
// if no call has got the ownership. f may read o.call.
func (o *ownership) inform(f func()) {
	if o.s.c.mute {
		return
	}
	o.s.mu.Lock()
	now := o.pending == announced
	if !now && !o.Refused() {
		if o.pending == nil {
			o.pending = new([]func())
		}
		*o.pending = append(*o.pending, f)
	}
	o.s.mu.Unlock()
	if now {
		f()
	}
}

// tellLost tells that an ownership has ended as lost.
func (o *ownership) tellLost(err *LostError) {
	c := o.s.c
	c.counters.losses.Add(1)
	e := Event{Ctx: leaseOf(o.Lease()).by, Name: err.Name, Kind: o.eventKind(), Owner: err.Owner, Held: err.Held, Err: err}
	if c.mute {
		c.observer.lost(e) // a loss is logged all the same, and no event comes before it
		return
	}
	o.inform(func() {
		e.Call = o.call
		c.observer.lost(e)
	})
}

// tellOver tells that an ownership was released. err says why there is no confirmation, and is nil if
// there is one.
func (o *ownership) tellOver(held time.Duration, err error) {
	c := o.s.c
	if c.mute {
		return // before two allocations that each release would pay for the event
	}
	e := Event{Ctx: leaseOf(o.Lease()).by, Name: o.s.name, Kind: o.eventKind(), Owner: o.Owner(), Held: held, Err: err}
	o.inform(func() {
		e.Call = o.call
		if err != nil {
			c.observer.unconfirmed(e)
		} else {
			c.observer.released(e)
		}
	})
}

// tellClosed tells that Close has ended an ownership.
func (o *ownership) tellClosed() {
	o.s.mu.Lock()
	free := max(0, time.Until(o.Lease().Expiry(time.Now())))
	o.s.mu.Unlock()
	o.tellOver(time.Since(o.Since()), &UnconfirmedError{Name: o.s.name, Owner: o.Owner(), FreeAfter: free, Err: ErrClosed})
}

// mustReturn calls f on a goroutine that all locks depend on: the watchdog's, or the subscription's. f
// calls an event function. A panic there ends the program. So does runtime.Goexit, which would otherwise
// end the renewal of all locks without a word.
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

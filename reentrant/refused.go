package reentrant

import (
	"errors"
	"time"
)

// refused counts and tells a call that ends without the lock, and returns its error.
func (l *Lock) refused(r *request, err error) error {
	c := l.c
	c.counters.notAcquired.Add(1)
	e := Event{Ctx: r.ctx, Call: r.number, Name: l.name, Kind: l.kind.eventKind(l.mode), Owner: r.Owner, Waited: time.Since(r.Began), Err: err}
	if errors.Is(err, ErrBusy) {
		c.counters.busy.Add(1)
	}
	var refusal *NotAcquiredError
	if errors.As(err, &refusal) {
		e.Holder, e.HolderName = refusal.Holder, refusal.HolderName
	}
	c.observer.notAcquired(e)
	return err
}

package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// registryTTL is how long Redis remembers who waits: several polls, each of which
// renews it, so that only the dead are forgotten.
const registryTTL = time.Minute

// attempt is what came of one try for the lock.
type attempt struct {
	hold      *holding    // granted
	answer    lua.Granted // busy
	heard     bool        // the client was registered, and messages would reach it
	overtaken bool        // the waiter's state was settled otherwise meanwhile
	err       error
}

// attempt tries once to take the lock for the head of the queue. It runs to its end
// whether or not the call still waits, and gives back what nobody wants any more.
func (q *queue) attempt(ctx context.Context, w *waiter) attempt {
	select {
	case q.wire <- struct{}{}:
	case <-w.gone:
		return attempt{overtaken: true}
	}
	wired := true
	defer func() {
		if wired {
			<-q.wire
		}
	}()

	q.mu.Lock()
	if w.state != leading {
		q.mu.Unlock()
		return attempt{overtaken: true}
	}
	q.resume()
	heard, since := q.heard(), q.since
	if q.ears != nil {
		q.ears.forget() // whatever they told, this attempt comes after it
	}
	q.asked = time.Now()
	q.mu.Unlock()

	order := q.order()
	command := lua.Acquire{
		Owner: w.owner, Lease: w.lease, Order: order,
		Client: q.c.id, Since: since, Fencing: w.fencing,
	}
	if heard {
		command.Register = registryTTL
	}
	command.AfterRedisson = q.afterRedisson.Load()
	line := q.c.line(q.keys.Lock)
	sent := time.Now()
	returned := false
	defer func() {
		if !returned {
			q.aborted(w, order, heard)
		}
	}()
	answer, err := command.Run(ctx, line, &q.keys)
	returned = true
	if err == nil && answer.Verdict == lua.Stale {
		err = errStale
	}
	q.settle(order, err)

	q.mu.Lock()
	q.asked = time.Time{}
	q.busy = err == nil && answer.Verdict == lua.Busy && q.waiters.first != nil
	if err == nil {
		q.answers++
	}
	switch {
	case err != nil:
		q.failed(w, heard, err)
		q.mu.Unlock()
		return attempt{err: q.explain(ctx, err)}
	case answer.Verdict == lua.Busy:
		if heard {
			q.since = answer.Since
		}
		q.tidy()
		q.mu.Unlock()
		return attempt{answer: answer, heard: heard}
	}

	q.since = 0
	q.turns.restart(time.Now())
	h := q.hold(&w.request, answer, sent)
	refusal := q.refusal(h, w, line)
	if refusal == nil {
		q.grant(w, h)
		q.mu.Unlock()
		wired = false
		<-q.wire // an event function that takes its time must not keep others from their commands
		if !q.c.mute {
			h.announce(func() {
				q.c.acquired(Event{Ctx: w.ctx, Name: q.name, Owner: h.owner, Token: h.token, Waited: time.Since(w.began)})
			})
		}
		return attempt{hold: h}
	}
	h.refused = true
	h.beginRelease(refusal)
	q.mu.Unlock()
	wired = false
	_ = q.letGo(ctx, h) // its error is cleaned up after
	return attempt{err: refusal}
}

// refusal says why a lock that Redis granted is not to be held. The caller has
// queue.mu.
func (q *queue) refusal(h *holding, w *waiter, line *line) error {
	switch {
	case w.state == left:
		return errInterrupted
	case q.c.isClosing():
		return ErrClosed
	case line.missing() > 0:
		return &ReplicasError{Name: q.name, Want: q.c.cfg.replicas, Got: line.acks}
	case watchdog.Passed(h.lease.validUntil()):
		return errTooLate
	}
	return nil
}

// failed notes what is left to clean up after an attempt that ended with err. The
// caller has queue.mu.
func (q *queue) failed(w *waiter, heard bool, err error) {
	if lua.Unknown(err) {
		w.doubt = true
		if w.state == left {
			q.cleanUp(w.owner, time.Now().Add(w.lease))
		}
		if heard && q.since == 0 {
			q.since = lua.MaybeRegistered // or nobody would ever take us out
		}
	}
	q.tidy()
}

// aborted settles an attempt whose command has not returned. The caller has the wire.
func (q *queue) aborted(w *waiter, order lua.Order, heard bool) {
	q.settle(order, errAborted)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked, q.busy = time.Time{}, false
	q.failed(w, heard, errAborted)
}

// explain gives an error of Redis the form in which callers see it.
func (q *queue) explain(ctx context.Context, err error) error {
	if lua.ForeignKey(err) {
		return q.c.foreign(ctx, q.name, q.keys.Lock, err)
	}
	return err
}

// giveUp ends the wait of a call: because of err, or at the limit of the wait if
// that is nil. If the lock was granted at this very moment, a call that reached its
// limit keeps it and any other gives it back.
func (v *vigil) giveUp(err error) (*holding, error) {
	q, w := v.q, v.w
	q.mu.Lock()
	switch w.state {
	case granted:
		h := w.hold
		v.late = false
		if err == nil || v.ctx.Err() == nil && !q.c.isClosing() {
			q.mu.Unlock()
			return h, nil
		}
		if w.from != nil {
			q.mu.Unlock()
			q.c.granted(w)
			q.mu.Lock()
		}
		closed := q.giveBack(context.WithoutCancel(v.ctx), h, w.holdKind, err)
		q.mu.Unlock()
		if closed {
			h.tellClosed()
		}
	case rejoined:
		v.late = false // this owner has it
		q.mu.Unlock()
	case refused:
		v.late = false
		if err == nil {
			err = w.refusal // at this very moment: Redis has been silent, and not said that the lock is busy
		}
		q.mu.Unlock()
	default:
		q.quit(w)
		q.mu.Unlock()
	}
	return nil, v.notAcquired(err)
}

// quit takes a waiter out whose call ends without the lock. The caller has queue.mu.
func (q *queue) quit(w *waiter) {
	q.remove(w, left)
	if w.gone != nil {
		close(w.gone)
	}
	if w.doubt {
		q.cleanUp(w.owner, time.Now().Add(w.lease))
	}
	q.promote()
	q.tidy()
}

// desert takes out a waiter whose call does not return, as a hook of go-redis or an event function has
// panicked or ended the goroutine: the others must not wait for it, nor it keep a lock that nobody knows of.
func (q *queue) desert(ctx context.Context, w *waiter) {
	q.mu.Lock()
	switch w.state {
	case granted:
		if w.from != nil && !w.told {
			defer q.c.granted(w)
		}
		closed := q.giveBack(context.WithoutCancel(ctx), w.hold, w.holdKind, errAborted)
		q.mu.Unlock()
		if closed {
			w.hold.tellClosed()
		}
		return
	case queued, leading:
		q.quit(w)
	}
	q.mu.Unlock()
}

// giveBack takes back, in the background, the hold of a call that has left at the
// moment of its grant. Another call of the same owner may have entered since, whose
// hold stays. It reports that the Client is closed and that it has ended the holding: the caller,
// who has queue.mu, is to tell that.
func (q *queue) giveBack(ctx context.Context, h *holding, kind holdKind, err error) (closed bool) {
	if h.state != live {
		q.forgetLost(h, kind) // nobody will unlock it
		return false
	}
	h.pop(kind, err)
	last := h.state == releasing
	if last {
		h.lease.by = ctx
	}
	begun := q.goBackground(func() {
		if last {
			q.settleRelease(ctx, h)
		} else {
			q.tellCount(ctx, h)
		}
	})
	if !begun && last {
		h.end(ErrClosed)
	}
	return !begun && last
}

func (v *vigil) notAcquired(err error) error {
	return &NotAcquiredError{
		Name: v.q.name, Holder: v.last.Holder, TTL: v.last.TTL,
		Waited: time.Since(v.w.began), Busy: err == nil || v.late, Err: err, client: v.q.c.id,
	}
}

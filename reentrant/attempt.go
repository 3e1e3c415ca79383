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
	answer, err := command.Run(ctx, line, &q.keys)
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
		q.failed(w, err)
		if heard && q.since == 0 && lua.Unknown(err) {
			q.since = lua.MaybeRegistered // or nobody would ever take us out
		}
		q.tidy()
		q.mu.Unlock()
		return attempt{err: q.explain(err)}
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
	h := q.hold(w.request, answer, sent)
	refusal := q.refusal(h, w, line)
	if refusal == nil {
		q.grant(w, h)
		q.mu.Unlock()
		q.c.acquired(Event{Name: q.name, Owner: h.owner, Token: h.token, Waited: time.Since(w.began)})
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
func (q *queue) failed(w *waiter, err error) {
	if !lua.Unknown(err) {
		return
	}
	w.doubt = true
	if w.state == left {
		q.cleanUp(w.owner, time.Now().Add(w.lease))
	}
}

// explain gives an error of Redis the form in which callers see it.
func (q *queue) explain(err error) error {
	if lua.ForeignKey(err) {
		return foreign(q.name, err)
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
		if err == nil || v.ctx.Err() == nil && !q.c.isClosing() {
			q.mu.Unlock()
			return h, nil
		}
		if w.from != nil {
			q.mu.Unlock()
			q.c.granted(w)
			q.mu.Lock()
		}
		q.giveBack(context.WithoutCancel(v.ctx), h, w.fixed, err)
		q.mu.Unlock()
	case rejoined, refused:
		q.mu.Unlock()
	default:
		q.remove(w, left)
		if w.gone != nil {
			close(w.gone)
		}
		if w.doubt {
			q.cleanUp(w.owner, time.Now().Add(w.lease))
		}
		q.promote()
		q.tidy()
		q.mu.Unlock()
	}
	return nil, v.notAcquired(err)
}

// giveBack takes back, in the background, the hold of a call that has left at the
// moment of its grant. Another call of the same owner may have entered since, whose
// hold stays. The caller has queue.mu.
func (q *queue) giveBack(ctx context.Context, h *holding, fixed bool, err error) {
	if h.state != live {
		q.forgetLost(h) // nobody will unlock it
		return
	}
	h.pop(&fixed, err)
	last := h.state == releasing
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
}

func (v *vigil) notAcquired(err error) error {
	return &NotAcquiredError{
		Name: v.q.name, Holder: v.last.Holder, TTL: v.last.TTL,
		Waited: time.Since(v.w.began), Err: err,
	}
}

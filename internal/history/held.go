package history

import (
	"sync"
	"time"
)

// Hold is what the log wants to know of a hold. *reentrant.Hold and *multilock.Hold
// are such.
type Hold interface{ ValidUntil() time.Time }

// Held follows one hold in the log, from its grant to its end.
type Held struct {
	log  *Log
	hold Hold
	op   Op // of its end

	mu   sync.Mutex
	told bool // guarded by mu: a Lost is recorded
}

// Granted completes the Acquire with that ID, which made hold. The instant is taken
// first: trust begins here.
func (l *Log) Granted(id int64, hold Hold, token int64) *Held {
	now, valid := l.Now(), l.At(hold.ValidUntil())
	h := &Held{log: l, hold: hold}
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.findLocked(id); op != nil {
		op.Return, op.Outcome, op.Token = now, OK, token
		op.Hold, op.ValidUntil = id, valid
		h.op = Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Hold: id}
	}
	return h
}

// ID is the hold's number: that of the Acquire that made it.
func (h *Held) ID() int64 { return h.op.Hold }

// Lost notes that its owner knows now that the hold is lost. The first call counts.
func (h *Held) Lost() {
	now := h.log.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told {
		return
	}
	h.told = true
	op := h.op
	op.Kind, op.Outcome = Lost, OK
	op.Call, op.Return, op.ValidUntil = now, now, h.log.At(h.hold.ValidUntil())
	h.log.Add(op)
}

// Releasing notes that the release is about to be called: trust ends here. done is to be
// called with the outcome.
func (h *Held) Releasing() (done func(Outcome, error)) {
	op := h.op
	op.Kind, op.ValidUntil = Release, h.log.At(h.hold.ValidUntil())
	id := h.log.Call(op)
	return func(outcome Outcome, err error) {
		h.log.Return(id, func(op *Op) {
			op.Outcome = outcome
			if err != nil {
				op.Note = err.Error()
			}
		})
	}
}

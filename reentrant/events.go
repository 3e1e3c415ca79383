package reentrant

import (
	"context"
	"log/slog"
	"time"
)

// Events are called as things happen to the locks of a [Client]. Every function is optional.
// They are called without any mutex held, several at the same time, and some of them from the
// goroutines that renew locks and receive wake-ups: they must return quickly and must not
// call the Client. A panic in one of them is not recovered: it ends the program, unless it was called
// on the goroutine of a caller that recovers, whose lock may then be held for ever.
//
// Beside each is which fields of the [Event] it has. Name and Owner are in all of them but
// RenewFailed and Resubscribed.
type Events struct {
	Waiting      func(Event) // the call begins to wait: Holder, empty if it is not known yet
	Acquired     func(Event) // a new hold, one that was handed over included: Waited, Token
	Reentered    func(Event) // the owner locked again: Count, Token
	HandedOver   func(Event) // to the next waiter of this Client, instead of Released: From, Held; Owner is the new holder
	Renewed      func(Event) // Redis confirmed a renewal: ValidUntil
	RenewFailed  func(Event) // renewals of Locks locks failed and will be tried again: Err
	Lost         func(Event) // Held, Err a *LostError
	Released     func(Event) // the last hold of the owner was released, and not handed over: Held
	Resubscribed func(Event) // the subscription was renewed, all waiters try again: Err is why
}

// Event is one thing that happened. Fields that do not belong to it are zero.
type Event struct {
	Name  string
	Owner string // the owner's field in the lock's hash

	Holder     string        // the other owner's field
	From       string        // the field of the owner that has released
	Count      int           // holds of the owner on this lock, the new one included
	Token      int64         // with fencing, otherwise 0
	Waited     time.Duration // from the call to the grant
	Held       time.Duration // from the grant to the end, of From's hold in HandedOver
	ValidUntil time.Time     // as Hold.ValidUntil
	Locks      int           // how many locks it is about
	Err        error
}

// observer turns what happens into events and log records.
type observer struct {
	events Events
	logger *slog.Logger
}

func (o *observer) tell(f func(Event), level slog.Level, message string, e Event) {
	if f != nil {
		f(e)
	}
	// Some of it happens in no call at all, so the record carries no caller's ctx.
	ctx := context.Background()
	if o.logger == nil || !o.logger.Enabled(ctx, level) {
		return
	}
	var attrs []slog.Attr
	if e.Name != "" {
		attrs = append(attrs, slog.String("lock", e.Name), slog.String("owner", e.Owner))
	}
	if e.Holder != "" {
		attrs = append(attrs, slog.String("holder", e.Holder))
	}
	if e.From != "" {
		attrs = append(attrs, slog.String("from", e.From))
	}
	if e.Count > 0 {
		attrs = append(attrs, slog.Int("count", e.Count))
	}
	if e.Token > 0 {
		attrs = append(attrs, slog.Int64("token", e.Token))
	}
	if e.Waited > 0 {
		attrs = append(attrs, slog.Duration("waited", e.Waited))
	}
	if e.Held > 0 {
		attrs = append(attrs, slog.Duration("held", e.Held))
	}
	if e.Locks > 0 {
		attrs = append(attrs, slog.Int("locks", e.Locks))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	o.logger.LogAttrs(ctx, level, message, attrs...)
}

func (o *observer) waiting(e Event) {
	o.tell(o.events.Waiting, slog.LevelDebug, "redlatch: waiting", e)
}

func (o *observer) acquired(e Event) {
	o.tell(o.events.Acquired, slog.LevelDebug, "redlatch: acquired", e)
}

func (o *observer) reentered(e Event) {
	o.tell(o.events.Reentered, slog.LevelDebug, "redlatch: re-entered", e)
}

func (o *observer) handedOver(e Event) {
	o.tell(o.events.HandedOver, slog.LevelDebug, "redlatch: handed over", e)
}

// granted tells of the hand-off to w. It is for the call that was granted the lock, before it
// returns: then all is told in the order in which it happened.
func (o *observer) granted(w *waiter) {
	if o.logger == nil && o.events.HandedOver == nil && o.events.Acquired == nil {
		return // the one path in which even this can be felt
	}
	from, to := w.from, w.hold
	if !from.refused {
		o.handedOver(Event{Name: to.q.name, Owner: to.owner, From: from.owner, Held: to.since.Sub(from.since)})
	}
	o.acquired(Event{Name: to.q.name, Owner: to.owner, Token: to.token, Waited: to.since.Sub(w.began)})
}

func (o *observer) renewed(e Event) {
	o.tell(o.events.Renewed, slog.LevelDebug, "redlatch: renewed", e)
}

func (o *observer) renewFailed(e Event) {
	o.tell(o.events.RenewFailed, slog.LevelWarn, "redlatch: renewal failed", e)
}

func (o *observer) lost(e Event) {
	o.tell(o.events.Lost, slog.LevelError, "redlatch: lost", e)
}

func (o *observer) released(e Event) {
	o.tell(o.events.Released, slog.LevelDebug, "redlatch: released", e)
}

func (o *observer) resubscribed(e Event) {
	o.tell(o.events.Resubscribed, slog.LevelDebug, "redlatch: resubscribed", e)
}

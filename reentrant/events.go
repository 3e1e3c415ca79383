package reentrant

import (
	"context"
	"log/slog"
	"time"
)

// Events are functions that the Client calls as things happen to its locks. Every function is optional.
// The Client calls them without any mutex held, several at the same time, and some of them on the
// goroutines that renew locks and receive wake-ups. So they must return quickly and must not call the
// Client.
//
// The Client does not recover a panic in one of them. It ends the program, unless the function was called
// on the goroutine of a caller that recovers. On a goroutine that renews locks or receives wake-ups
// runtime.Goexit ends the program, too. A call that is cut short leaves nothing locked, and a release
// goes on in the background.
//
// For each hold Acquired comes first, and one of Released, HandedOver (of From's hold), Unconfirmed and
// Lost comes last, exactly once. Nested holds are no holds of their own here. For each call that takes a
// lock one of Acquired, Reentered and NotAcquired comes before it returns, unless an argument was
// invalid. The attempts that a MultiLock makes on its members are such calls. If a call was granted the
// lock as it ended, and gives it back, it has both Acquired and NotAcquired.
//
// The comment of each function names the fields of the [Event] that it gets. All but RenewFailed and
// Resubscribed get Name and Owner, and all get Ctx.
type Events struct {
	Waiting func(Event) // the call begins to wait: Holder, empty if it is not known yet
	// Woken: the call has a reason to try again, or a release has granted it the lock: How. Each is one of
	// Stats.WakeUps. Of the calls that wait for a lock in one Client only the first is woken.
	Woken     func(Event)
	Acquired  func(Event) // a new hold, one that was handed over included: Waited, Token, How
	Reentered func(Event) // the owner locked again: Count, Token, Waited
	// NotAcquired: the call ends without the lock: Waited, Holder if it is known, Err a *NotAcquiredError,
	// or the *LostError of a nested call.
	NotAcquired func(Event)
	// HandedOver, instead of Released: the lock goes to the next waiter of this Client: From, Held; Owner is
	// the new holder.
	HandedOver  func(Event)
	Renewed     func(Event) // Redis confirmed a renewal: ValidUntil; one event for all readers that share a lease, whose field is Owner
	RenewFailed func(Event) // renewals of Locks locks failed and will be tried again: Err
	Lost        func(Event) // Held, Err a *LostError
	Released    func(Event) // the last hold of the owner was released, and not handed over: Held
	// Unconfirmed: as Released, but Redis has not confirmed it, or the Client was closed under the hold:
	// Held, Err an *UnconfirmedError.
	Unconfirmed  func(Event)
	Resubscribed func(Event) // the subscription was renewed, all waiters try again: Err is why
}

// Event is one thing that happened. Fields that do not belong to it are zero.
type Event struct {
	// Ctx is the ctx of the call in which the event happened. That is Lock, Acquire and the like, Unlock
	// or Release for Released and Unconfirmed, and the new holder's call for HandedOver. It may have
	// ended. Outside a call, as in a renewal or a loss that a renewal has found, it is
	// context.Background(), never nil.
	Ctx context.Context

	Name  string
	Kind  string // "read" or "write" of a [ReadWriteLock]; otherwise empty
	Owner string // the owner's field in the lock's hash

	// Call numbers the calls of a Client from 1: Waiting, Woken, Acquired, Reentered and NotAcquired of one
	// call have the same number. Events about a hold have the number of the call that got it: Released, Unconfirmed,
	// Lost, Renewed, and HandedOver the call of the hold which it ends. It is 0 in events of neither.
	Call uint64

	How        How           // why the call tries again, or how it got the lock
	Holder     string        // the other owner's field
	HolderName string        // the name of its Client (WithClientName), with Holder, if it is known already
	From       string        // the field of the owner that has released
	Count      int           // holds of the owner on this lock, the new one included
	Token      int64         // with fencing, otherwise 0
	Waited     time.Duration // from the call to the grant, or to its end
	Held       time.Duration // from the grant to the end, of From's hold in HandedOver
	ValidUntil time.Time     // as Hold.ValidUntil
	Locks      int           // how many locks the event is about
	Err        error
}

// observer turns what happens into events and log records.
type observer struct {
	events    Events
	logger    *slog.Logger
	incidents *incidents // nil if WithLogger was given
	mute      bool       // no logger or function is to hear of an ownership, except of its loss
	numbers   bool       // there may be functions to which the number of a call matters
}

func newObserver(cfg *config) observer {
	events := cfg.events
	o := observer{events: events, logger: cfg.logger, mute: cfg.logger == nil, numbers: cfg.evented}
	if !cfg.logged {
		o.incidents = &incidents{}
	}
	for _, f := range []func(Event){
		events.Acquired, events.Reentered, events.HandedOver, events.Renewed, events.Lost, events.Released, events.Unconfirmed,
	} {
		o.mute = o.mute && f == nil
	}
	return o
}

// tell calls the event function first, and then writes the log record.
func (o *observer) tell(f func(Event), level slog.Level, message string, e Event) {
	if e.Ctx == nil {
		e.Ctx = context.Background() // it happened in no call
	}
	if f != nil {
		f(e)
	}
	if o.logger != nil && o.logger.Enabled(e.Ctx, level) {
		o.logger.LogAttrs(e.Ctx, level, message, e.attrs()...)
	}
}

// attrs are the attributes of a log record.
func (e *Event) attrs() (attrs []slog.Attr) {
	if e.Name != "" {
		attrs = append(attrs, slog.String("lock", e.Name), slog.String("owner", e.Owner))
	}
	if e.Kind != "" {
		attrs = append(attrs, slog.String("kind", e.Kind))
	}
	if e.Holder != "" {
		attrs = append(attrs, slog.String("holder", e.Holder))
	}
	if e.HolderName != "" {
		attrs = append(attrs, slog.String("holder_name", e.HolderName))
	}
	if e.From != "" {
		attrs = append(attrs, slog.String("from", e.From))
	}
	if e.How != "" {
		attrs = append(attrs, slog.String("how", string(e.How)))
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
	return attrs
}

func (o *observer) waiting(e Event) {
	o.tell(o.events.Waiting, slog.LevelDebug, "redlatch: waiting", e)
}

func (o *observer) woken(e Event) {
	o.tell(o.events.Woken, slog.LevelDebug, "redlatch: woken", e)
}

func (o *observer) acquired(e Event) {
	o.tell(o.events.Acquired, slog.LevelDebug, "redlatch: acquired", e)
}

func (o *observer) reentered(e Event) {
	o.tell(o.events.Reentered, slog.LevelDebug, "redlatch: re-entered", e)
}

func (o *observer) notAcquired(e Event) {
	o.tell(o.events.NotAcquired, slog.LevelDebug, "redlatch: not acquired", e)
}

func (o *observer) handedOver(e Event) {
	o.tell(o.events.HandedOver, slog.LevelDebug, "redlatch: handed over", e)
}

// granted tells of the hand-off to w. The call that was granted the lock calls it before it returns: then
// all events come in the order in which things happened.
func (o *observer) granted(w *waiter) {
	w.handOffTold = true
	if o.mute {
		return // in a write-behind hand-off even this costs time that can be measured
	}
	from, to := ownershipOf(w.HandedBy()), ownershipOf(w.Ownership())
	e := Event{Ctx: w.ctx, Name: to.s.name, Kind: to.eventKind(), Owner: to.Owner(), From: from.Owner(), Held: to.Since().Sub(from.Since())}
	got := to.got(w, to.Since().Sub(w.Began))
	got.How = HowHandoff
	if from.Refused() {
		to.announce(got.Call, func() { o.acquired(got) })
		return
	}
	from.inform(func() { // after its own Acquired; w may be another call's by then
		e.Call = from.call
		to.announce(got.Call, func() {
			defer o.acquired(got)
			o.handedOver(e)
		})
	})
}

func (o *observer) renewed(e Event) {
	o.tell(o.events.Renewed, slog.LevelDebug, "redlatch: renewed", e)
}

func (o *observer) renewFailed(e Event) {
	o.tell(o.events.RenewFailed, slog.LevelWarn, "redlatch: renewal failed", e)
	o.incidents.renewFailed(e)
}

func (o *observer) lost(e Event) {
	o.tell(o.events.Lost, slog.LevelError, "redlatch: lost", e)
	o.incidents.lost(e)
}

func (o *observer) released(e Event) {
	o.tell(o.events.Released, slog.LevelDebug, "redlatch: released", e)
}

func (o *observer) unconfirmed(e Event) {
	o.tell(o.events.Unconfirmed, slog.LevelWarn, "redlatch: release not confirmed", e)
}

func (o *observer) resubscribed(e Event) {
	o.tell(o.events.Resubscribed, slog.LevelDebug, "redlatch: resubscribed", e)
}

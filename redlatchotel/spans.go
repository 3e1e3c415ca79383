package redlatchotel

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlatch/redlatch/reentrant"
)

// spans makes the spans of calls and holds.
//
// The span of a call is made at its end, since no event tells its beginning; until then its waits are kept. The
// span of a hold is begun at its grant, and is kept if it records. Each call that waits ends with one of Acquired,
// Reentered and NotAcquired, and each hold with one of four events, so nothing is kept for ever.
type spans struct {
	tracer trace.Tracer
	waits  kept[*wait]
	holds  kept[trace.Span] // by the call that got the hold
}

// call names a call among all Clients.
type call struct {
	client string // its ID
	number uint64
}

// wait is what has happened to a call that waits. Waiting and Woken are told by the goroutine of the call, and the
// event of its end comes after them.
type wait struct {
	moments []moment
}

type moment struct {
	event string
	at    time.Time
	attrs []attribute.KeyValue
}

// maxMoments bounds what is kept of one wait.
const maxMoments = 64

func newSpans(tracer trace.Tracer) *spans {
	return &spans{tracer: tracer}
}

func callOf(e reentrant.Event) call {
	client, _, _ := strings.Cut(e.Owner, ":") // From, in HandedOver, is of the same Client
	return call{client, e.Call}
}

func (s *spans) waiting(e reentrant.Event) {
	m := moment{event: "waiting", at: time.Now()}
	if holder := holderOf(e); holder != "" {
		m.attrs = append(m.attrs, keyHolder.String(holder))
	}
	s.waits.put(callOf(e), &wait{moments: []moment{m}})
}

func (s *spans) woken(e reentrant.Event) {
	if w, found := s.waits.get(callOf(e)); found && len(w.moments) < maxMoments {
		w.moments = append(w.moments, moment{event: "woken", at: time.Now(), attrs: []attribute.KeyValue{keyCause.String(string(e.How))}})
	}
}

// acquired makes the span of a call that got the lock, and begins that of the hold unless the call is nested.
func (s *spans) acquired(e reentrant.Event, of series, begins bool) {
	ctx, span := s.ofCall(e, of)
	span.End()
	if !begins || !span.SpanContext().IsSampled() {
		return
	}
	if trace.SpanContextFromContext(e.Ctx).IsValid() {
		ctx = e.Ctx
	}
	s.begin(ctx, e, of, span.SpanContext())
}

func (s *spans) begin(ctx context.Context, e reentrant.Event, of series, acquisition trace.SpanContext) {
	of.how = ""
	_, hold := s.tracer.Start(ctx, "redlatch.hold", trace.WithAttributes(named(e, of)...),
		trace.WithLinks(trace.Link{SpanContext: acquisition}))
	if hold.IsRecording() {
		s.holds.put(callOf(e), hold)
	}
}

// notAcquired makes the span of a call that ended without the lock. A busy lock is an answer, and no error.
func (s *spans) notAcquired(e reentrant.Event, of series) {
	_, span := s.ofCall(e, of)
	if of.err != "busy" {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	span.End()
}

// ofCall makes the span of a call that ends now.
func (s *spans) ofCall(e reentrant.Event, of series) (context.Context, trace.Span) {
	w, waited := s.waits.take(callOf(e))
	ctx, span := s.tracer.Start(e.Ctx, "redlatch.acquire "+e.Name, trace.WithTimestamp(time.Now().Add(-e.Waited)))
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(named(e, of)...)
	if !waited {
		return ctx, span
	}
	for _, m := range w.moments {
		span.AddEvent(m.event, trace.WithTimestamp(m.at), trace.WithAttributes(m.attrs...))
	}
	return ctx, span
}

// ended ends the span of a hold.
func (s *spans) ended(e reentrant.Event, of series) {
	hold, found := s.holds.take(callOf(e))
	if !found {
		return
	}
	of.group = "" // it was set at the beginning
	hold.SetAttributes(of.attributes()...)
	if e.Err != nil {
		hold.SetStatus(codes.Error, e.Err.Error())
	}
	hold.End()
}

// named are the attributes of a span: those of the metric, and the lock's name.
func named(e reentrant.Event, of series) []attribute.KeyValue {
	return append(of.attributes(), keyName.String(e.Name))
}

// holderOf is who has the lock, as far as it is known.
func holderOf(e reentrant.Event) string {
	if e.HolderName != "" {
		return e.HolderName
	}
	return e.Holder
}

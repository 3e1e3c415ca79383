package redlatchotel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlatch/redlatch/redlatchotel"
)

// ended returns the ended spans of that name, in the order of their ends.
func (r *rig) ended(name string) (found []sdk.ReadOnlySpan) {
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

func events(s sdk.ReadOnlySpan) (names []string) {
	for _, e := range s.Events() {
		name := e.Name
		for _, a := range e.Attributes {
			if a.Key == "redlatch.wakeup.cause" {
				name += " " + a.Value.String()
			}
		}
		names = append(names, name)
	}
	return names
}

func attributes(s sdk.ReadOnlySpan) (all []string) {
	for _, a := range s.Attributes() {
		all = append(all, strings.TrimPrefix(string(a.Key), "redlatch.")+"="+a.Value.String())
	}
	slices.Sort(all)
	return all
}

// A call is a child of its caller's span, from its beginning to its end, and shows what it waited for.
func TestSpansOfAWait(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		l := r.client("billing").NewLock("order:42")
		hold, err := r.plain().NewLock("order:42").Acquire(r.ctx)
		must(t, err)
		ctx, request := r.tracers.Tracer("test").Start(r.as("me"), "request")
		began := time.Now()
		wait := begin(func() error { return l.Lock(ctx) })
		r.pass(500 * time.Millisecond)
		must(t, hold.Release(r.ctx))
		must(t, wait())
		got := time.Now()
		request.End()
		r.pass(2 * time.Second)
		must(t, l.Unlock(ctx))

		call, held := r.ended("redlatch.acquire order:42")[0], r.ended("redlatch.hold")[0]
		if call.Parent().SpanID() != request.SpanContext().SpanID() || held.Parent().SpanID() != request.SpanContext().SpanID() {
			t.Error("they are no children of the caller's span")
		}
		if !call.StartTime().Equal(began) || !call.EndTime().Equal(got) || !held.StartTime().Equal(got) || held.EndTime().Sub(got) != 2*time.Second {
			t.Errorf("call %v to %v, hold %v to %v", call.StartTime(), call.EndTime(), held.StartTime(), held.EndTime())
		}
		if links := held.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != call.SpanContext().SpanID() {
			t.Errorf("links %v", links)
		}
		if e := events(call); !slices.Equal(e, []string{"waiting", "woken subscribed", "woken message"}) {
			t.Errorf("events %q", e)
		}
		if a := attributes(call); !slices.Equal(a, []string{"acquire.how=message", "lock.group=order", "lock.name=order:42"}) {
			t.Errorf("attributes of the call %q", a)
		}
		if a := attributes(held); !slices.Equal(a, []string{"hold.end=released", "lock.group=order", "lock.name=order:42"}) {
			t.Errorf("attributes of the hold %q", a)
		}
	}, redlatchotel.WithGroup(redlatchotel.BeforeColon))
}

// A hold of a call without a span belongs to the trace of the acquisition. Nested calls have spans, and no holds.
func TestSpansWithoutACaller(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		l := r.client("").NewLock("job")
		must(t, l.Lock(r.as("me")))
		must(t, l.Lock(r.as("me")))
		must(t, l.Unlock(r.as("me")))
		wait := begin(func() error { return l.Lock(r.as("you")) })
		r.pass(time.Second)
		must(t, l.Unlock(r.as("me")))
		must(t, wait())
		r.mini.FlushAll()
		r.pass(lease)
		_ = l.Unlock(r.as("you"))
		calls, holds := r.ended("redlatch.acquire job"), r.ended("redlatch.hold")
		if len(calls) != 3 || len(holds) != 2 {
			t.Fatalf("%d calls, %d holds", len(calls), len(holds))
		}
		for i, of := range []int{0, 2} { // me's first call, and yours
			if holds[i].SpanContext().TraceID() != calls[of].SpanContext().TraceID() || holds[i].Links()[0].SpanContext.SpanID() != calls[of].SpanContext().SpanID() {
				t.Errorf("hold %d is of another call", i)
			}
		}
		if a := attributes(holds[0]); !slices.Contains(a, "hold.end=handed_over") {
			t.Errorf("first hold %q", a)
		}
		if a := attributes(holds[1]); !slices.Contains(a, "loss.reason=overridden") || holds[1].Status().Code != codes.Error {
			t.Errorf("second hold %q", a)
		}
	})
}

// Busy is an answer; whatever else ends a call without the lock is an error.
func TestSpansOfFailures(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		l := r.client("").NewLock("job")
		holder := r.plain().NewLock("job")
		must(t, holder.LockLease(r.ctx, time.Hour))
		_, _ = l.TryLock(r.as("me"), 3*time.Second, 0)
		r.mini.SetError("NOPERM no")
		_, _ = l.TryLock(r.as("me"), time.Second, 0)
		r.mini.SetError("")
		must(t, holder.Unlock(r.ctx))
		calls := r.ended("redlatch.acquire job")
		if len(calls) != 2 || calls[0].Status().Code != codes.Unset || calls[1].Status().Code != codes.Error {
			t.Fatalf("calls %v", calls)
		}
		if a := attributes(calls[0]); !slices.Contains(a, "error.type=busy") || calls[0].EndTime().Sub(calls[0].StartTime()) != 3*time.Second {
			t.Errorf("attributes %q", a)
		}
		if a := attributes(calls[1]); !slices.Contains(a, "error.type=redis") {
			t.Errorf("attributes %q", a)
		}
	})
}

// A trace that its root did not sample gets no spans, and its hold is not kept.
func TestUnsampledTraces(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		l := r.client("").NewLock("job")
		parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Remote: true})
		ctx := trace.ContextWithSpanContext(r.as("me"), parent)
		must(t, l.Lock(ctx))
		must(t, l.Unlock(ctx))
		if n := len(r.spans.Started()); n != 0 {
			t.Errorf("%d spans", n)
		}
	})
}

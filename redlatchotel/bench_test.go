package redlatchotel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

// BenchmarkCost takes and releases a free lock without telemetry and with it, in slices that take turns, and reports
// how long a lock with telemetry takes by that of one without: the median ratio of neighbouring slices, in percent. On a
// machine that does something else a difference of two runs would show that.
func BenchmarkCost(b *testing.B) {
	server := redistest.Start(b)
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	never := trace.NewTracerProvider(trace.WithSampler(trace.NeverSample()))
	always := trace.NewTracerProvider(trace.WithSyncer(tracetest.NewNoopExporter()))
	group := redlatchotel.WithGroup(redlatchotel.BeforeColon)
	for _, c := range []struct {
		name string
		opts []redlatchotel.Option // nil: empty event functions
	}{
		{name: "empty events"},
		{"metrics", []redlatchotel.Option{redlatchotel.WithTracerProvider(noop.NewTracerProvider())}},
		{"metrics and no trace sampled", []redlatchotel.Option{redlatchotel.WithTracerProvider(never)}},
		{"metrics and all traces", []redlatchotel.Option{redlatchotel.WithTracerProvider(always)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			events := reentrant.Events{Acquired: func(reentrant.Event) {}, Released: func(reentrant.Event) {}}
			if c.opts != nil {
				telemetry, err := redlatchotel.New(append(c.opts, redlatchotel.WithMeterProvider(meters), group)...)
				must(b, err)
				events = telemetry.Events()
			}
			without, with := benchClient(b, server), benchClient(b, server, reentrant.WithEvents(events))
			compare(b, without.NewLock("order:1"), with.NewLock("order:2"))
		})
	}
}

func benchClient(b *testing.B, server *redistest.Server, opts ...reentrant.Option) *reentrant.Client {
	b.Helper()
	c, err := reentrant.New(server.Client(b), append(opts, reentrant.WithLogger(nil))...)
	must(b, err)
	b.Cleanup(func() { must(b, c.Close(context.Background())) })
	return c
}

// compare reports the median of the ratios, and the quartiles around it.
func compare(b *testing.B, without, with *reentrant.Lock) {
	ratios := make([]float64, 0, b.N)
	slice(b, without)
	slice(b, with)
	for b.Loop() {
		ratios = append(ratios, slice(b, with).Seconds()/slice(b, without).Seconds())
	}
	for _, quarter := range []int{1, 2, 3} {
		b.ReportMetric(100*quantile(ratios, quarter), fmt.Sprintf("%%/q%d", quarter))
	}
}

// slice is how long 200 locks take.
func slice(b *testing.B, l *reentrant.Lock) time.Duration {
	began := time.Now()
	for range 200 {
		must(b, l.Lock(b.Context()))
		must(b, l.Unlock(b.Context()))
	}
	return time.Since(began)
}

func quantile(values []float64, quarter int) float64 {
	slices.Sort(values)
	return values[min(len(values)*quarter/4, len(values)-1)]
}

// BenchmarkEvents is what the telemetry of one lock costs by itself: an Acquired and a Released.
func BenchmarkEvents(b *testing.B) {
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	telemetry, err := redlatchotel.New(redlatchotel.WithMeterProvider(meters), redlatchotel.WithTracerProvider(noop.NewTracerProvider()),
		redlatchotel.WithGroup(redlatchotel.BeforeColon))
	must(b, err)
	events := telemetry.Events()
	e := reentrant.Event{Ctx: b.Context(), Name: "order:42", Owner: "client:me", Call: 1, How: reentrant.HowFree, Waited: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		events.Acquired(e)
		events.Released(e)
	}
}

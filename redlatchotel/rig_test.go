package redlatchotel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

const lease = time.Second

// rig is Clients on a Redis in a bubble of virtual time, whose locks are measured and traced.
type rig struct {
	t         *testing.T
	ctx       context.Context
	mini      *miniredis.Miniredis
	telemetry *redlatchotel.Telemetry
	reader    *metric.ManualReader
	tracers   *trace.TracerProvider
	spans     *tracetest.SpanRecorder
}

func inVirtualTime(t *testing.T, f func(t *testing.T, r *rig), opts ...redlatchotel.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, rdb := redistest.Mini(t)
		must(t, rdb.Ping(t.Context()).Err())
		r := &rig{t: t, ctx: t.Context(), mini: m, reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
		r.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(r.spans))
		opts = append([]redlatchotel.Option{
			redlatchotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(r.reader))),
			redlatchotel.WithTracerProvider(r.tracers),
		}, opts...)
		var err error
		r.telemetry, err = redlatchotel.New(opts...)
		must(t, err)
		f(t, r)
	})
}

// client makes a Client that is observed by that name.
func (r *rig) client(name string, opts ...reentrant.Option) *reentrant.Client {
	r.t.Helper()
	c := r.plain(append(opts, reentrant.WithEvents(r.telemetry.Events()))...)
	stop, err := r.telemetry.Observe(c, name)
	must(r.t, err)
	r.t.Cleanup(stop)
	return c
}

// plain makes a Client that is not observed.
func (r *rig) plain(opts ...reentrant.Option) *reentrant.Client {
	r.t.Helper()
	c, err := reentrant.New(redistest.MiniClient(r.t, r.mini), append([]reentrant.Option{reentrant.WithLease(lease), reentrant.WithLogger(nil)}, opts...)...)
	must(r.t, err)
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(r.t, c.Close(ctx))
	})
	return c
}

func (r *rig) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// as is the ctx of an owner of that name.
func (r *rig) as(owner string) context.Context { return reentrant.WithOwner(r.ctx, owner) }

// metrics are the metrics by name.
func (r *rig) metrics() map[string]metricdata.Metrics {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	must(r.t, r.reader.Collect(r.ctx, &all))
	found := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

// lines are the series of a metric, sorted: "attribute=value ... n", and the sum after the n of a histogram.
func (r *rig) lines(name string) (lines []string) {
	r.t.Helper()
	switch data := r.metrics()[name].Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			lines = append(lines, strings.TrimSpace(fmt.Sprint(text(p.Attributes), " ", p.Value)))
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %d %.1fs", text(p.Attributes), p.Count, p.Sum)))
		}
	}
	slices.Sort(lines)
	return lines
}

func text(set attribute.Set) string {
	values := make(map[string]string)
	for _, a := range set.ToSlice() {
		values[strings.TrimPrefix(string(a.Key), "redlatch.")] = a.Value.String()
	}
	var s []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s = append(s, key+"="+values[key])
	}
	return strings.Join(s, " ")
}

func (r *rig) want(name string, want ...string) {
	r.t.Helper()
	if got := r.lines(name); !slices.Equal(got, want) {
		r.t.Errorf("%s is\n%q, want\n%q", name, got, want)
	}
}

// begin runs f on a goroutine, and returns a function that waits for its end.
func begin(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

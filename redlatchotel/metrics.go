package redlatchotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch/reentrant"
)

// buckets are in seconds, as advised for db.client.operation.duration.
var buckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}

// metrics records what events tell.
type metrics struct {
	groups groups
	series recordOptions

	acquire, hold           metric.Float64Histogram
	losses, resubscriptions metric.Int64Counter
}

func newMetrics(meter metric.Meter, group func(string) string) (*metrics, error) {
	m := &metrics{groups: groups{of: group}}
	var errs [4]error
	m.acquire, errs[0] = meter.Float64Histogram("redlatch.acquire.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls that take a lock."), metric.WithExplicitBucketBoundaries(buckets...))
	m.hold, errs[1] = meter.Float64Histogram("redlatch.hold.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the grant of a lock to the end of the hold."), metric.WithExplicitBucketBoundaries(buckets...))
	m.losses, errs[2] = meter.Int64Counter("redlatch.losses", metric.WithUnit("{loss}"),
		metric.WithDescription("Locks lost while they were held."))
	m.resubscriptions, errs[3] = meter.Int64Counter("redlatch.resubscriptions", metric.WithUnit("{resubscription}"),
		metric.WithDescription("Renewals of the subscription after a connection failed."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.begin()
	return m, nil
}

// begin makes the series of what must not happen. Prometheus sees no increase in a series that begins with 1.
func (m *metrics) begin() {
	ctx := context.Background() // of no call
	m.losses.Add(ctx, 0, metric.WithAttributes(keyReason.String(leaseEnded)))
	m.losses.Add(ctx, 0, metric.WithAttributes(keyReason.String(overridden)))
	m.resubscriptions.Add(ctx, 0)
}

// acquired records a call that takes a lock, with its outcome.
func (m *metrics) acquired(e reentrant.Event, s series) {
	m.acquire.Record(e.Ctx, e.Waited.Seconds(), m.series.of(s)...)
}

// ended records the end of a hold.
func (m *metrics) ended(e reentrant.Event, s series) {
	m.hold.Record(e.Ctx, e.Held.Seconds(), m.series.of(s)...)
	if s.reason != "" {
		m.losses.Add(e.Ctx, 1, metric.WithAttributes(keyReason.String(s.reason)))
	}
}

func (m *metrics) resubscribed(e reentrant.Event) { m.resubscriptions.Add(e.Ctx, 1) }

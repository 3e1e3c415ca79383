package redlatchotel

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch/reentrant"
)

// scope is the name of the meter and of the tracer.
const scope = "github.com/redlatch/redlatch/redlatchotel"

// Telemetry measures and traces the locks of any number of Clients. Its methods may be called at the same
// time.
type Telemetry struct {
	meter   metric.Meter
	metrics *metrics
	spans   *spans
	clients clients
}

// New makes the instruments. The error is that of the MeterProvider, for example about an instrument of the same
// name and another unit.
func New(opts ...Option) (*Telemetry, error) {
	cfg := newConfig(opts)
	t := &Telemetry{meter: cfg.meters.Meter(scope)}
	var err error
	if t.metrics, err = newMetrics(t.meter, cfg.group); err != nil {
		return nil, err
	}
	t.spans = newSpans(cfg.tracers.Tracer(scope))
	return t, nil
}

// Events are the functions for [reentrant.WithEvents]. Several Clients may have them.
func (t *Telemetry) Events() reentrant.Events {
	acquired := func(how string) func(reentrant.Event) {
		return func(e reentrant.Event) {
			s := series{group: t.metrics.groups.group(e.Name), how: how}
			if how == "" {
				s.how = string(e.How)
			}
			t.metrics.acquired(e, s)
			t.spans.acquired(e, s, how == "")
		}
	}
	ended := func(end string) func(reentrant.Event) {
		return func(e reentrant.Event) {
			s := series{group: t.metrics.groups.group(e.Name), end: end}
			if end == lost {
				s.reason = lossReason(e.Err)
			}
			t.metrics.ended(e, s)
			t.spans.ended(e, s)
		}
	}
	return reentrant.Events{
		Waiting: t.spans.waiting, Woken: t.spans.woken,
		Acquired: acquired(""), Reentered: acquired(howReentry), NotAcquired: t.notAcquired,
		Released: ended(released), HandedOver: ended(handedOver), Lost: ended(lost), Unconfirmed: ended(unconfirmed),
		Resubscribed: t.metrics.resubscribed,
	}
}

func (t *Telemetry) notAcquired(e reentrant.Event) {
	s := series{group: t.metrics.groups.group(e.Name), err: errorType(e.Err)}
	t.metrics.acquired(e, s)
	t.spans.notAcquired(e, s)
}

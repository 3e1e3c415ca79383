package redlatchotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch/reentrant"
)

const (
	keyGroup  = attribute.Key("redlatch.lock.group")
	keyName   = attribute.Key("redlatch.lock.name")
	keyHolder = attribute.Key("redlatch.lock.holder")
	keyHow    = attribute.Key("redlatch.acquire.how")
	keyEnd    = attribute.Key("redlatch.hold.end")
	keyReason = attribute.Key("redlatch.loss.reason")
	keyCause  = attribute.Key("redlatch.wakeup.cause")
	keyClient = attribute.Key("redlatch.client.name")
	keyError  = attribute.Key("error.type")
)

const (
	howReentry = "reentry"

	released    = "released"
	handedOver  = "handed_over"
	lost        = "lost"
	unconfirmed = "unconfirmed"

	leaseEnded = "lease_ended"
	overridden = "overridden"

	ofRedis = "redis"
)

// errorType says why a call has ended without the lock. A ctx that ended because another lock was lost is
// canceled, so canceled is looked for before lost.
func errorType(err error) string {
	switch {
	case errors.Is(err, reentrant.ErrBusy):
		return "busy"
	case errors.Is(err, reentrant.ErrClosed):
		return "closed"
	case errors.Is(err, reentrant.ErrReplicas):
		return "replicas"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	case errors.Is(err, reentrant.ErrLost):
		return lost
	default:
		return ofRedis
	}
}

// lossReason says how a lock was lost.
func lossReason(err error) string {
	var loss *reentrant.LostError
	if errors.As(err, &loss) && loss.Reason == reentrant.Overridden {
		return overridden
	}
	return leaseEnded
}

// series is what tells one series of a histogram from the others. Empty fields are no attributes.
type series struct {
	group, how, err, end, reason string
}

// maxSeries bounds the table of options. There can be no more: 101 groups with 14 outcomes of a call and 5 ends of a
// hold.
const maxSeries = (maxGroups + 1) * (14 + 5)

// recordOptions are the options of a measurement. They are made once for each series: an attribute set costs more
// than the measurement.
type recordOptions struct {
	table table[series, []metric.RecordOption]
}

func (r *recordOptions) of(s series) []metric.RecordOption {
	if opts, found := r.table.get(s); found {
		return opts
	}
	return r.table.add(s, maxSeries, makeOptions, nil)
}

func makeOptions(s series) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(s.attributes()...))}
}

func (s series) attributes() (set []attribute.KeyValue) {
	for _, a := range []struct {
		key   attribute.Key
		value string
	}{{keyGroup, s.group}, {keyHow, s.how}, {keyError, s.err}, {keyEnd, s.end}, {keyReason, s.reason}} {
		if a.value != "" {
			set = append(set, a.key.String(a.value))
		}
	}
	return set
}

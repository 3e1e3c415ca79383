package redlatchotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option changes what [New] makes.
type Option func(*config)

type config struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
	group   func(name string) string
}

func newConfig(opts []Option) *config {
	cfg := &config{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, opt := range opts {
		opt(cfg)
	}
	return cfg
}

// WithMeterProvider takes the meter from provider. The default is the global one, otel.GetMeterProvider.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) { c.meters = provider }
}

// WithTracerProvider takes the tracer from provider. The default is the global one,
// otel.GetTracerProvider. With the provider of go.opentelemetry.io/otel/trace/noop there are no spans.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) { c.tracers = provider }
}

// WithGroup gives the histograms the attribute redlatch.lock.group, with what group returns for the name
// of the lock (without the Client's prefix). The first 100 different groups are told apart; each further one,
// and an empty one, is "other". The default is no such attribute.
//
// Group is called for each call that takes a lock and for each end of a hold, several at the same time. It
// must return quickly and must not call the Client.
func WithGroup(group func(name string) string) Option {
	return func(c *config) { c.group = group }
}

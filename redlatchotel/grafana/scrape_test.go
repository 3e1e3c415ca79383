package grafana_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	lease       = 30 * time.Second
	scrapeEvery = 15 * time.Second
)

// scrape is what Prometheus gets at one moment.
type scrape struct {
	at         time.Time
	text       []byte
	textFormat string
}

// service is a program with locks, on a Redis in a bubble of virtual time, that Prometheus scrapes.
type service struct {
	t       *testing.T
	ctx     context.Context
	mini    *miniredis.Miniredis
	page    http.Handler
	scrapes []scrape
}

// scrapes are those of a service in which the steps happen, each minute one of them, and once more from the
// beginning. Prometheus sees the last ten minutes of them.
func scrapesOf(t *testing.T, step func(s *service, minute int, c, other *reentrant.Client)) (got []scrape) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, rdb := redistest.Mini(t)
		must(t, rdb.Ping(t.Context()).Err())
		registry := prometheus.NewRegistry()
		exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
		must(t, err)
		telemetry, err := redlatchotel.New(redlatchotel.WithGroup(redlatchotel.BeforeColon),
			redlatchotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(exporter))))
		must(t, err)
		s := &service{t: t, ctx: t.Context(), mini: m, page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})}
		c, other := s.client(reentrant.WithEvents(telemetry.Events())), s.client()
		stop, err := telemetry.Observe(c, "billing")
		must(t, err)
		defer stop()
		for minute := range 12 {
			step(s, minute, c, other)
			s.pass(time.Minute)
		}
		got = s.scrapes
	})
	return got
}

func (s *service) client(opts ...reentrant.Option) *reentrant.Client {
	s.t.Helper()
	c, err := reentrant.New(redistest.MiniClient(s.t, s.mini), append(opts, reentrant.WithLease(lease), reentrant.WithLogger(nil))...)
	must(s.t, err)
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx) // some services lose their locks
	})
	return c
}

// as is the ctx of an owner of that name.
func (s *service) as(owner string) context.Context { return reentrant.WithOwner(s.ctx, owner) }

// pass lets time pass, and scrapes meanwhile.
func (s *service) pass(d time.Duration) {
	s.t.Helper()
	for ; d > 0; d -= scrapeEvery {
		time.Sleep(min(d, scrapeEvery))
		synctest.Wait()
		s.scrape()
	}
}

// scrape asks as Prometheus 3 does, which takes names that are not escaped.
func (s *service) scrape() {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.1")
	page := httptest.NewRecorder()
	s.page.ServeHTTP(page, r)
	if page.Code != http.StatusOK {
		s.t.Fatalf("%d: %s", page.Code, page.Body)
	}
	s.scrapes = append(s.scrapes, scrape{time.Now(), page.Body.Bytes(), page.Header().Get("Content-Type")})
}

// begin runs f on a goroutine, and returns a function that waits for its end.
func begin(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

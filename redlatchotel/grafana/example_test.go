package grafana_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

// Prometheus scrapes what the exporter has registered with its default registry.
func Example() {
	server, err := miniredis.Run() // a Redis in this process
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	ctx := context.Background()

	exporter, err := prometheus.New()
	if err != nil {
		log.Fatal(err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	defer provider.Shutdown(ctx)
	telemetry, err := redlatchotel.New(redlatchotel.WithMeterProvider(provider), redlatchotel.WithGroup(redlatchotel.BeforeColon))
	if err != nil {
		log.Fatal(err)
	}
	client, err := reentrant.New(rdb, reentrant.WithEvents(telemetry.Events()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.NewLock("order:42").Do(ctx, func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	page := httptest.NewRecorder()
	promhttp.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if name, _, found := strings.Cut(line, "{"); found && strings.HasPrefix(line, "redlatch_") && strings.HasSuffix(name, "_count") {
			fmt.Println(name)
		}
	}
	// Output:
	// redlatch_acquire_duration_seconds_count
	// redlatch_hold_duration_seconds_count
}

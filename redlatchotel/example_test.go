package redlatchotel_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

// A program has an exporter where this one has a reader, and need not pass the provider if it is the global one.
func Example() {
	server, err := miniredis.Run() // a Redis in this process
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	ctx := context.Background()
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
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
	stop, err := telemetry.Observe(client, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	err = client.NewLock("order:42").Do(ctx, func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	print(ctx, reader)
	// Output:
	// redlatch.acquire.duration of order: 1
	// redlatch.hold.duration of order: 1
}

func print(ctx context.Context, reader *metric.ManualReader) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	var lines []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		if h, is := m.Data.(metricdata.Histogram[float64]); is {
			group, _ := h.DataPoints[0].Attributes.Value("redlatch.lock.group")
			lines = append(lines, fmt.Sprintf("%s of %s: %d", m.Name, group.String(), h.DataPoints[0].Count))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

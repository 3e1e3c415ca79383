package faulttests

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/worker"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // many locks are lost here
	logging.Disable()                              // and many servers are not reached
	worker.Main()
	// The tests wait for leases and elections, each on servers of its own, and use a third of a processor. Four at once
	// leave two processors half idle. -parallel still decides.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

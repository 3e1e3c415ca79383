package multilock_test

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // many members are lost here
	// go-redis writes a line for every server that cannot be reached.
	logging.Disable()
	// Tests on real servers wait for leases and quarantines rather than for a processor, so
	// as many may run at once as there are processors would be few. -parallel still decides.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

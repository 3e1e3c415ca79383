package redlatchtest

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // many locks are lost here
	logging.Disable()                              // and many connections
	leaktest.Main(m)
}

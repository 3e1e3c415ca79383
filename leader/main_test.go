package leader_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
)

var (
	stormFor  = flag.Duration("for", 0, "torment leaders for so long; 0: a few seconds, as one of all tests")
	stormSeed = flag.Uint64("seed", 0, "of the faults; 0: a new one")
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // leads are lost here
	logging.Disable()
	if text := os.Getenv(candidacy); text != "" {
		if err := stand(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

package docs

import (
	"log/slog"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// What users' clients report is no part of these tests: many are refused, and lose their locks, on purpose.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	logging.Disable()
	os.Exit(m.Run())
}

package multilock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) {
	logging.Disable() // go-redis writes a line for every server that cannot be reached
	goleak.VerifyTestMain(m)
}

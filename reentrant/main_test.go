package reentrant_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/worker"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) {
	worker.Main()
	goleak.VerifyTestMain(m)
}

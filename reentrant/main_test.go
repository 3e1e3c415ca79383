package reentrant_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test starts has ended with it: no goroutine outlives the last one.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

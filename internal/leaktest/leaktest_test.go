package leaktest

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

// TestSlowEnd is the probe of go-redis: it ends more than a second after its client was closed.
func TestSlowEnd(t *testing.T) {
	others := goleak.IgnoreCurrent()
	go time.Sleep(1200 * time.Millisecond)
	if err := find(patience, others); err != nil {
		t.Errorf("a goroutine that ends in time counts as a leak: %v", err)
	}
}

func TestLeak(t *testing.T) {
	others := goleak.IgnoreCurrent()
	end := make(chan struct{})
	defer close(end)
	go func() { <-end }()
	if err := find(time.Millisecond, others); err == nil || !strings.Contains(err.Error(), "TestLeak") {
		t.Errorf("got %v, want the goroutine that is left", err)
	}
}

// Package leaktest fails a package's tests if a goroutine outlives them.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take to end after the last test. go-redis probes a server
// that refuses connections from a goroutine that sleeps for a second between two tries, and sees
// only then that its client is closed (v9.23, tryDial in internal/pool/pool.go). goleak alone waits
// for less than half a second.
const patience = 10 * time.Second

// Main runs the tests, waits until their goroutines have ended, and exits.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines outlive the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// find returns the last complaint if goroutines are left after d.
func find(d time.Duration, opts ...goleak.Option) error {
	for end := time.Now().Add(d); ; {
		err := goleak.Find(opts...) // waits by itself, 0.4 s at the most
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

package redistest

import (
	"testing"
	"time"
)

// Eventually polls cond until it holds, and fails the test with what if it does
// not within the given time. It is for what only a server or another process can
// tell; inside a synctest bubble use synctest.Wait.
func Eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		// The clock is read after cond, so that a slow machine gets one more
		// look and not a failure between two of them.
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		<-tick.C
	}
}

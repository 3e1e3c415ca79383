package faulttests

import (
	"testing"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A flush takes the counter with everything else. Tokens go on from the clock of Redis.
func TestFault32TokensRiseOverAFlush(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	me := owner(t.Context(), "me")
	var last int64
	for range 20 {
		c := faultClient(t, s.Client(t))
		hold, err := c.NewLock("l", reentrant.WithFencing()).Acquire(me)
		must(t, err)
		if hold.Token() <= last {
			t.Fatalf("token %d after %d", hold.Token(), last)
		}
		last = hold.Token()
		s.Do(t, "FLUSHALL")
		wants(t, hold.Release(me), reentrant.ErrLost)
		if n := s.Do(t, "DBSIZE").(int64); n > 2 { // the epoch of a release in doubt, and no lock
			t.Errorf("%d keys after the loser's release", n)
		}
		if len(locktest.Held(t, s, "l")) > 0 {
			t.Error("the loser's release made the lock anew")
		}
	}
}

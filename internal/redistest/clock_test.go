package redistest_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A clock that is set moves TIME and the end of every TTL, in both directions, and no other
// server's. So it does after a restart.
func TestClock(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	s, other := redistest.Start(t, redistest.WithClock(clock)), redistest.Start(t)
	const about = 20 * time.Second // of a machine that is busy, and far from the steps below
	wantAhead := func(want time.Duration) {
		t.Helper()
		if ahead := time.Until(s.Now(t)); ahead < want-about || ahead > want+about {
			t.Errorf("the clock is ahead by %v, want %v", ahead, want)
		}
		if ahead := time.Until(other.Now(t)); ahead < -about || ahead > about {
			t.Errorf("another server's clock is ahead by %v", ahead)
		}
	}
	wantTTL := func(want time.Duration) {
		t.Helper()
		ms := s.Do(t, "PTTL", "k").(int64)
		if left := time.Duration(ms) * time.Millisecond; left < want-about || left > want {
			t.Errorf("the key has %v left, want %v", left, want)
		}
	}
	wantAhead(0)
	s.Do(t, "SET", "k", "v", "PX", (10 * time.Minute).Milliseconds())
	clock.Set(5 * time.Minute)
	wantAhead(5 * time.Minute)
	wantTTL(5 * time.Minute)
	clock.Set(-5 * time.Minute)
	wantAhead(-5 * time.Minute)
	wantTTL(15 * time.Minute)
	clock.Set(11 * time.Minute)
	if n := s.Do(t, "EXISTS", "k"); n != int64(0) {
		t.Error("the key has outlived its end")
	}
	s.Restart()
	wantAhead(11 * time.Minute)
}

package faulttests

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Row 31. Redis evicts a lock to make room, of which no message tells: the holder hears of it
// at its next renewal, waiters find the lock free, and the token goes on rising. Check has
// warned.
func TestFault31Eviction(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"volatile-ttl", "allkeys-random"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			const lease = 3 * time.Second
			c, d := faultClient(t, s.Client(t), reentrant.WithLease(lease)), faultClient(t, s.Client(t))
			me := owner(t.Context(), "me")
			hold, err := c.NewLock("l", reentrant.WithFencing()).Acquire(me)
			must(t, err)
			waited := make(chan *reentrant.Hold, 1)
			go func() {
				next, err := d.NewLock("l", reentrant.WithFencing()).Acquire(me)
				if err != nil {
					t.Error(err)
				}
				waited <- next
			}()
			redistest.Eventually(t, 10*time.Second, "it is registered", func() bool {
				return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
			})

			used, err := strconv.Atoi(s.Info(t, "memory", "used_memory"))
			must(t, err)
			s.Do(t, "CONFIG", "SET", "maxmemory-policy", policy)
			s.Do(t, "CONFIG", "SET", "maxmemory", fmt.Sprint(used+4<<20))
			warnings, err := d.Check(t.Context())
			must(t, err)
			var evictable *reentrant.EvictionError
			if !errors.As(errors.Join(warnings...), &evictable) || evictable.Policy != policy || evictable.MaxMemory != int64(used+4<<20) || len(warnings) != 1 {
				t.Errorf("Check warns of %v", warnings)
			}
			wants(t, errors.Join(warnings...), reentrant.ErrEviction)
			for i := 0; s.Do(t, "HEXISTS", "l", hold.Owner()).(int64) == 1; i++ {
				// An error says that there is nothing left to evict.
				if err := s.Admin().Set(t.Context(), fmt.Sprint("other:", i), strings.Repeat("x", 100_000), 0).Err(); err != nil && !strings.HasPrefix(err.Error(), "OOM") {
					t.Fatal(err)
				}
			}
			s.Do(t, "CONFIG", "SET", "maxmemory", "0")

			locktest.InTime(t, 10*time.Second, "the loss", hold.Lost())
			var lost *reentrant.LostError
			if err := hold.Release(me); !errors.As(err, &lost) || lost.Reason != reentrant.Overridden || lost.Held >= lease {
				t.Errorf("Release: %v", err)
			}
			next := locktest.InTime(t, 10*time.Second, "the waiter has the lock", waited)
			if next.Token() <= hold.Token() {
				t.Errorf("token %d after %d", next.Token(), hold.Token())
			}
			must(t, next.Release(me))
			s.Do(t, "FLUSHALL")
		})
	}
}

// Row 31. What cannot happen is not warned of.
func TestFault31NoEvictionNoWarning(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	for what, settings := range map[string][2]string{
		"no limit":      {"0", "allkeys-lru"},
		"a limit":       {"100mb", "noeviction"},
		"neither":       {"0", "noeviction"},
		"both, evicted": {"100mb", "volatile-lru"},
	} {
		s.Do(t, "CONFIG", "SET", "maxmemory", settings[0])
		s.Do(t, "CONFIG", "SET", "maxmemory-policy", settings[1])
		warnings, err := c.Check(t.Context())
		must(t, err)
		if warned := len(warnings) > 0; warned != strings.Contains(what, "evicted") {
			t.Errorf("%s: Check warns of %v", what, warnings)
		}
	}
}

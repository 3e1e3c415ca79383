package locktest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Held is what Redis says of a lock: the hold count of each owner.
func Held(t testing.TB, s *redistest.Server, name string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m, err := s.Admin().HGetAll(ctx, name).Result()
	if err != nil {
		t.Errorf("HGETALL %s: %v", name, err) // not Fatal: it is not always the test's goroutine
	}
	return m
}

// FreeWithin waits until the lock's key is gone.
func FreeWithin(t testing.TB, s *redistest.Server, within time.Duration, name string) {
	t.Helper()
	redistest.Eventually(t, within, fmt.Sprintf("lock %s is free", name), func() bool {
		return len(Held(t, s, name)) == 0
	})
}

// TidyWithin checks what must hold when everybody has gone: no lock is left, every
// key of ours has a TTL, nobody is subscribed.
func TidyWithin(t testing.TB, s *redistest.Server, within time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		FreeWithin(t, s, within, name)
	}
	for _, key := range s.Do(t, "KEYS", "*").([]any) {
		key := key.(string)
		if strings.HasPrefix(key, "redisson_lock_token:") {
			continue // the counter is meant to last
		}
		if ttl := s.Do(t, "PTTL", key).(int64); ttl == -1 {
			t.Errorf("key %s has no TTL", key)
		}
	}
	redistest.Eventually(t, within, "no channel is subscribed", func() bool {
		return len(s.Do(t, "PUBSUB", "CHANNELS", "*").([]any)) == 0
	})
}

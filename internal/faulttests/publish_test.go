package faulttests

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// flood publishes batches of messages, some 10 a millisecond, until stop is called, which
// tells how many there were.
func flood(t *testing.T, s *redistest.Server, channel string, payloads ...string) (stop func() (sent int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan int, 1)
	go func() { // ends with stop, or with the test
		n := 0
		defer func() { sent <- n }()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			pipe := s.Admin().Pipeline()
			for range 10 {
				pipe.Publish(ctx, channel, payloads[n%len(payloads)])
				n++
			}
			if _, err := pipe.Exec(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("PUBLISH: %v", err)
				return
			}
		}
	}()
	return func() int { cancel(); return <-sent }
}

// Row 61. Whoever may publish can call waiters to a lock that is not free, on each of
// their channels, with what Redisson and Redlatch publish there and with anything else. No
// message grants the lock; the waiter looks at a bounded rate; and it gets the
// lock when it is free.
func TestFault61PublishFlood(t *testing.T) {
	t.Parallel()
	garbage := []string{"", "garbage", "0\r\n", "\xff\x00", "-1", "9999999999999999999999", strings.Repeat("x", 10_000)}
	for what, payloads := range map[string][]string{"released": {"0"}, "woken": {"-0"}, "garbage": garbage} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			holder, waiter := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
			me := owner(t.Context(), "me")
			hold, err := holder.NewLock("l").Acquire(me)
			must(t, err)
			done := make(chan error, 1)
			go func() { done <- waiter.NewLock("l").Lock(me) }()
			common, own := "redisson_lock__channel:{l}", "redisson_lock__channel:{l}:"+waiter.ID()
			channels := []string{common, own, "redlatch_listeners:{l}"}
			redistest.Eventually(t, 10*time.Second, "it listens everywhere", func() bool {
				heard := s.Do(t, "PUBSUB", "NUMSUB", channels[0], channels[1], channels[2]).([]any)
				return heard[1] == int64(1) && heard[3] == int64(1) && heard[5] == int64(1) &&
					s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
			})
			before, began := scriptCalls(t, s), time.Now()
			var stops []func() int
			for _, channel := range channels {
				stops = append(stops, flood(t, s, channel, payloads...))
			}
			redistest.Eventually(t, 20*time.Second, "the burst is over", func() bool { return waiter.Stats().WakeUps.Message >= 25 })
			_ = rateOver(t, s, time.Second)
			sent := 0
			for _, stop := range stops {
				sent += stop()
			}
			calls, took := scriptCalls(t, s)-before, time.Since(began)
			t.Logf("%d messages, %d scripts in %v", sent, calls, took)
			// At most 50 a second after 20 at once, and a poll a second.
			if limit := 20 + 55*took.Seconds(); float64(calls) > limit+5 {
				t.Errorf("%d scripts in %v", calls, took)
			}
			select {
			case err := <-done:
				t.Fatalf("a message ended the wait: %v", err)
			case <-hold.Lost():
				t.Fatal("a message took the lock away")
			default:
			}
			must(t, hold.Release(me))
			must(t, locktest.InTime(t, 20*time.Second, "the waiter gets the lock", done))
			must(t, waiter.NewLock("l").Unlock(me))
			locktest.TidyWithin(t, s, 5*time.Second, "l")
		})
	}
}

package faulttests

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Up to a hundred megabytes are published to a waiter whose connection does not take them: Redis
// drops the connection when its output buffer is over the limit. The waiter subscribes anew, tries
// again, as it must have missed something, and releases reach it by messages as before.
func TestFault52OutputBufferLimit(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	r.Do(t, "CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 1mb 1")
	holder, waiter := faultClient(t, r.Client(t)), faultClient(t, r.through(t))
	me := owner(t.Context(), "me")
	must(t, holder.NewLock("l").Lock(me))
	done := make(chan error, 1)
	go func() { done <- waiter.NewLock("l").Lock(me) }()
	registered := func() bool { return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1 }
	redistest.Eventually(t, 10*time.Second, "it is registered", registered)
	own := "redisson_lock__channel:{l}:" + waiter.ID()
	subscribed := func() int64 { return r.Do(t, "PUBSUB", "NUMSUB", own).([]any)[1].(int64) }

	before := waiter.Stats().WakeUps.Subscribed
	r.proxy.Blackhole(false, true, faultproxy.PubSub) // it reads no more
	payload := strings.Repeat("x", 1<<20)
	for sent := 0; subscribed() == 1; sent++ {
		if sent == 100 {
			t.Fatal("Redis does not drop the subscriber")
		}
		r.Do(t, "PUBLISH", own, payload)
	}
	r.proxy.Heal()
	redistest.Eventually(t, 30*time.Second, "it is subscribed again", func() bool { return subscribed() == 1 })
	redistest.Eventually(t, 30*time.Second, "it has tried again", func() bool { return waiter.Stats().WakeUps.Subscribed > before })
	redistest.Eventually(t, 10*time.Second, "it is registered", registered)
	messages := waiter.Stats().WakeUps.Message
	must(t, holder.NewLock("l").Unlock(me))
	must(t, locktest.InTime(t, 10*time.Second, "the waiter has the lock", done))
	must(t, waiter.NewLock("l").Unlock(me))
	// It has several channels, so the answer to a subscription may have come with the
	// release and woken it first. There is an end to them.
	for round := 0; waiter.Stats().WakeUps.Message == messages; round++ {
		if round == 10 {
			t.Fatalf("never woken by a release: %+v", waiter.Stats().WakeUps)
		}
		must(t, holder.NewLock("l").Lock(me))
		go func() { done <- waiter.NewLock("l").Lock(me) }()
		redistest.Eventually(t, 10*time.Second, "it is registered", registered)
		must(t, holder.NewLock("l").Unlock(me))
		must(t, locktest.InTime(t, 10*time.Second, "the waiter has the lock", done))
		must(t, waiter.NewLock("l").Unlock(me))
	}
	locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
}

package reentrant_test

import (
	"fmt"
	"testing"
	"time"
)

// Channels without a listener stay subscribed for a while, 1024 at most, and then the
// oldest goes. A lock's common channel goes before that by which Go clients are known:
// on the first alone, a client would pass for one of Redisson until the second went too.
func TestMutantNoGoClientPassesForRedisson(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const (
			common    = "redisson_lock__channel:{first}"
			listeners = "redlatch_listeners:{first}"
			lingering = 1024 // and each lock has three channels
			wait      = 20 * time.Millisecond
		)
		c := v.client()
		try := func(name string) {
			v.mini.HSet(name, "somebody:1", "1")
			v.mini.SetTTL(name, time.Hour)
			if ok, err := c.NewLock(name).TryLock(v.ctx, wait, 0); ok || err != nil {
				t.Errorf("%s: %v, %v", name, ok, err)
			}
		}
		subscribed := func() (onCommon, onListeners int) {
			n := v.mini.PubSubNumSub(common, listeners)
			return n[common], n[listeners]
		}
		kept := begin(func() error { // or the connection goes with its last channel
			v.mini.HSet("kept", "somebody:1", "1")
			v.mini.SetTTL("kept", time.Hour)
			_, err := c.NewLock("kept").TryLock(v.ctx, time.Minute, 0)
			return err
		})
		v.pass(0)
		waiter := begin(func() error { try("first"); return nil })
		v.pass(wait / 2)
		if a, b := subscribed(); a != 1 || b != 1 {
			t.Fatalf("%d on the common channel, %d listeners", a, b)
		}
		must(t, waiter.wait())
		var rest []*pending
		for i := range lingering / 3 { // so that two have to go
			rest = append(rest, begin(func() error { try(fmt.Sprint("job:", i)); return nil }))
		}
		for _, p := range rest {
			must(t, p.wait())
		}
		v.pass(0)
		if a, b := subscribed(); a != 0 || b != 1 {
			t.Errorf("%d on the common channel, %d listeners; want the first to go", a, b)
		}
		v.pass(5 * time.Second)
		if a, b := subscribed(); a != 0 || b != 0 {
			t.Errorf("%d on the common channel, %d listeners, want none in the end", a, b)
		}
		must(t, kept.wait())
	})
}

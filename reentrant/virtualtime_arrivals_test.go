package reentrant_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Everybody who asks is told since when a call waits for a fair lock, whatever Client it waits in.
func TestTimeFairArrivals(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		waits, asks := v.client(), v.client()
		hold, err := asks.NewFairLock("l").Acquire(owner(v.ctx, "first"))
		must(t, err)
		var g grants
		const waiters = 4
		for i := range waiters {
			g.wait(t, waits.NewFairLock("l"), i)
			v.pass(time.Second)
		}
		want := func(what string, seconds ...int) {
			t.Helper()
			for _, c := range []*reentrant.Client{waits, asks} {
				info, err := c.NewFairLock("l").Info(v.ctx)
				must(t, err)
				var got []int
				for _, w := range info.Waiters {
					got = append(got, int(info.At.Sub(w.Since).Round(time.Second)/time.Second))
				}
				if !slices.Equal(got, seconds) {
					t.Errorf("%s: have waited %v s, want %v", what, got, seconds)
				}
			}
		}
		want("lined up", 4, 3, 2, 1)
		v.rdb[0].Del(v.ctx, fairQueue, fairTimeouts)
		v.pass(10 * time.Second)
		want("the line was deleted", 14, 13, 12, 11)
		must(t, hold.Release(v.ctx))
		g.want(t, waiters)
	})
}

// The ticket of a machine whose clock is ahead says that the call comes later: it has waited for no time.
func TestTimeFairClockAhead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		hold, err := c.NewFairLock("l").Acquire(owner(v.ctx, "first"))
		must(t, err)
		ahead := "11111111-2222-4333-8444-555555555555:+me#" + strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)
		v.rdb[0].RPush(v.ctx, fairQueue, ahead)
		info, err := c.NewFairLock("l").Info(v.ctx)
		must(t, err)
		if len(info.Waiters) != 1 || !info.Waiters[0].Since.Equal(info.At) {
			t.Errorf("%+v", info)
		}
		v.rdb[0].Del(v.ctx, fairQueue)
		must(t, hold.Release(v.ctx))
	})
}

// Calls of one instant have tickets of their own, in the order of the wait queue.
func TestTimeFairTicketsOfOneInstant(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		hold, err := c.NewFairLock("l").Acquire(owner(v.ctx, "first"))
		must(t, err)
		var g grants
		const waiters = 50
		for i := range waiters {
			g.wait(t, c.NewFairLock("l"), i)
			synctest.Wait()
		}
		v.pass(10 * time.Millisecond)
		line, err := v.rdb[0].LRange(v.ctx, fairQueue, 0, -1).Result()
		must(t, err)
		if len(slices.Compact(slices.Sorted(slices.Values(line)))) != waiters {
			t.Errorf("%d tickets: %v", len(line), line)
		}
		must(t, hold.Release(v.ctx))
		g.want(t, waiters)
	})
}

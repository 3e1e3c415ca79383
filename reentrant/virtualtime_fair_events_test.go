package reentrant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// What a Client tells and counts of calls for a fair lock: two wait behind another Client's hold, a third does not wait, the
// lock goes from the first to the second inside the Client, and the last hold is lost.
func TestTimeFairEventsAndStats(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var j journal
		c := v.client(j.all(), reentrant.WithEvents(reentrant.Events{NotAcquired: j.note("not acquired")}))
		lock := c.NewFairLock("l", reentrant.WithFencing())
		first := v.fairHold(v.client())
		got := make(chan *reentrant.Hold)
		for _, who := range []string{"w1", "w2"} {
			go func() {
				hold, _ := lock.Acquire(owner(v.ctx, who))
				got <- hold
			}()
			v.pass(100 * time.Millisecond)
		}
		ok, err := lock.TryLock(owner(v.ctx, "hasty"), 0, 0)
		if must(t, err); ok {
			t.Error("ahead of the line")
		}
		if st := c.Stats(); st.Waiting != 2 || st.Busy != 1 || st.NotAcquired != 1 || st.Held != 0 {
			t.Errorf("%+v", st)
		}
		must(t, first.Release(v.ctx))
		one := <-got
		v.pass(time.Second)
		must(t, one.Release(v.ctx))
		two := <-got
		if two.Token() <= one.Token() {
			t.Errorf("token %d after %d", two.Token(), one.Token())
		}
		v.rdb[0].Del(v.ctx, "l")
		<-two.Lost()
		if err := two.Release(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Error(err)
		}
		v.pass(time.Second)
		j.want(t,
			"not acquired hasty", "waiting w1", "acquired w1 message",
			"waiting w2", "handed over w2 from w1", "acquired w2 handoff", "lost w2")
		v.wantLine()
		st := c.Stats()
		if st.Acquired != 2 || st.HandedOver != 1 || st.Losses != 1 || st.Waiting != 0 || st.Held != 0 || st.WakeUps.Message != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// want compares what was told with the events of holds and calls, but for wake-ups and renewals.
func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var told []string
	plain := func(field string) string { return field[strings.IndexByte(field, ':')+1:] } // without the Client's ID
	for i, kind := range j.kinds {
		e := j.events[i]
		if kind == "woken" || kind == "renewed" || e.Owner == "" {
			continue
		}
		line := kind + " " + plain(e.Owner)
		if e.How != "" {
			line += " " + string(e.How)
		}
		if e.From != "" {
			line += " from " + plain(e.From)
		}
		told = append(told, line)
	}
	// Nobody waits for an event function: there is no order between two owners.
	owner := func(line string) string {
		return strings.Fields(strings.TrimPrefix(strings.TrimPrefix(line, "not "), "handed "))[1]
	}
	slices.SortStableFunc(told, func(a, b string) int { return strings.Compare(owner(a), owner(b)) })
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}

// A prefix is in every key and channel of a fair lock, and two prefixes are two locks.
func TestTimeFairPrefix(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(reentrant.WithPrefix("app:")), v.client(reentrant.WithPrefix("app:"))
		hold, err := a.NewFairLock("l", reentrant.WithFencing()).Acquire(owner(v.ctx, "me"))
		must(t, err)
		other, err := v.client().NewFairLock("l").Acquire(owner(v.ctx, "me"))
		must(t, err)
		must(t, other.Release(v.ctx))
		v.pass(2 * time.Minute) // what an unconfirmed command may have left is gone
		waits := make(chan error)
		go func() {
			waits <- b.NewFairLock("l", reentrant.WithFencing()).Do(owner(v.ctx, "you"), func(context.Context) error { return nil })
		}()
		v.pass(time.Second)
		keys, err := v.rdb[0].Keys(v.ctx, "*").Result()
		must(t, err)
		channels, err := v.rdb[0].PubSubChannels(v.ctx, "*").Result()
		must(t, err)
		if len(keys) < 4 || len(channels) == 0 {
			t.Errorf("keys %q, channels %q", keys, channels)
		}
		for _, name := range append(keys, channels...) {
			if !strings.Contains(name, "{app:l}") && name != "app:l" {
				t.Errorf("%q is without the prefix", name)
			}
		}
		must(t, hold.Release(v.ctx))
		must(t, <-waits)
	})
}

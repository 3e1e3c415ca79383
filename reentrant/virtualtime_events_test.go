package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// journal keeps events in the order in which they came.
type journal struct {
	mu     sync.Mutex
	kinds  []string
	events []reentrant.Event
}

func (j *journal) note(kind string) func(reentrant.Event) {
	return func(e reentrant.Event) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.kinds = append(j.kinds, kind)
		j.events = append(j.events, e)
	}
}

func (j *journal) all() reentrant.Option {
	return reentrant.WithEvents(reentrant.Events{
		Waiting: j.note("waiting"), Acquired: j.note("acquired"), Reentered: j.note("re-entered"),
		HandedOver: j.note("handed over"), Renewed: j.note("renewed"), RenewFailed: j.note("renew failed"),
		Lost: j.note("lost"), Released: j.note("released"), Unconfirmed: j.note("unconfirmed"), Resubscribed: j.note("resubscribed"),
	})
}

// take checks the kinds of what was noted since the last call, and returns it.
func (j *journal) take(t *testing.T, want ...string) []reentrant.Event {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.kinds, want) {
		t.Fatalf("events %q, want %q", j.kinds, want)
	}
	events := j.events
	j.kinds, j.events = nil, nil
	return events
}

// during forgets what was noted, and returns what is noted while f runs.
func (j *journal) during(f func()) (told []string) {
	j.mu.Lock()
	j.kinds, j.events = nil, nil
	j.mu.Unlock()
	f()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, kind := range j.kinds {
		_, owner, _ := strings.Cut(j.events[i].Owner, ":")
		told = append(told, kind+" "+owner)
	}
	return told
}

// same compares an event with what is wanted of it; fields that do not belong to
// its kind must be zero, but for Ctx and Call.
func same(t *testing.T, got, want reentrant.Event) {
	t.Helper()
	if got.Ctx == nil {
		t.Fatal("an event without a ctx")
	}
	got.Ctx, got.Call = nil, 0
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("event\n%+v\nwant\n%+v", got, want)
	}
}

func TestTimeEventsOfALife(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.all())
		l := c.NewLock("job", reentrant.WithFencing())
		h, err := l.Acquire(v.ctx)
		must(t, err)
		if h.Token() == 0 {
			t.Fatal("no token")
		}
		same(t, j.take(t, "acquired")[0], reentrant.Event{Name: "job", Owner: h.Owner(), How: reentrant.HowFree, Token: h.Token()})
		must(t, l.Lock(v.ctx))
		same(t, j.take(t, "re-entered")[0], reentrant.Event{Name: "job", Owner: h.Owner(), Count: 2, Token: h.Token()})
		must(t, l.Unlock(v.ctx))
		j.take(t)
		v.pass(lease / 3)
		same(t, j.take(t, "renewed")[0], reentrant.Event{Name: "job", Owner: h.Owner(), ValidUntil: h.ValidUntil()})
		v.pass(lease / 6)
		must(t, h.Release(v.ctx))
		same(t, j.take(t, "released")[0], reentrant.Event{Name: "job", Owner: h.Owner(), Held: lease/3 + lease/6})
	})
}

func TestTimeEventsOfAHandOver(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.all(), reentrant.WithLease(time.Hour))
		l := c.NewLock("job", reentrant.WithFencing())
		first, err := l.Acquire(v.ctx)
		must(t, err)
		j.take(t, "acquired")
		var second *reentrant.Hold
		waiter := begin(func() (err error) {
			second, err = l.Acquire(reentrant.WithOwner(v.ctx, "order 7"))
			return err
		})
		v.pass(2 * time.Second)
		owner := c.ID() + ":order 7"
		same(t, j.take(t, "waiting")[0], reentrant.Event{Name: "job", Owner: owner, Holder: first.Owner()})
		must(t, first.Release(v.ctx))
		must(t, waiter.wait())
		v.pass(0)
		if second.Owner() != owner || second.Token() <= first.Token() {
			t.Fatalf("owner %s, tokens %d then %d", second.Owner(), first.Token(), second.Token())
		}
		events := j.take(t, "handed over", "acquired")
		same(t, events[0], reentrant.Event{Name: "job", Owner: owner, From: first.Owner(), Held: 2 * time.Second})
		same(t, events[1], reentrant.Event{Name: "job", Owner: owner, How: reentrant.HowHandoff, Token: second.Token(), Waited: 2 * time.Second})
		must(t, second.Release(v.ctx))
		j.take(t, "released")
		if s := c.Stats(); s.HandedOver != 1 || s.Acquired != 2 {
			t.Fatalf("stats %+v", s)
		}
	})
}

func TestTimeEventsOfAWaitForAnotherClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other, err := v.client(reentrant.WithLease(time.Hour)).NewLock("job").Acquire(v.ctx)
		must(t, err)
		j := &journal{}
		c := v.client(j.all())
		owned := reentrant.WithOwner(v.ctx, "order 7")
		waiter := begin(func() error { return c.NewLock("job").Lock(owned) })
		v.pass(time.Minute) // however often it tries, it begins to wait once
		owner := c.ID() + ":order 7"
		same(t, j.take(t, "waiting")[0], reentrant.Event{Name: "job", Owner: owner, Holder: other.Owner()})
		must(t, other.Release(v.ctx))
		must(t, waiter.wait())
		if e := j.take(t, "acquired")[0]; e.Waited < time.Minute || e.Waited > time.Minute+5*time.Millisecond {
			t.Fatalf("waited %v, want a minute", e.Waited)
		}
		must(t, c.NewLock("job").Unlock(owned))
		j.take(t, "released")
	})
}

func TestTimeEventsOfTrouble(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.all())
		owned := reentrant.WithOwner(v.ctx, "order 7")
		owner := c.ID() + ":order 7"
		for _, name := range []string{"a", "b", "c"} {
			must(t, c.NewLock(name).Lock(owned))
		}
		j.take(t, "acquired", "acquired", "acquired")
		v.refuseAll(loading)
		v.pass(lease / 3)
		v.refuseAll("")
		failed := j.take(t, "renew failed")[0] // one for the batch, however many locks
		if failed.Locks != 3 || failed.Err == nil || failed.Err.Error() != loading {
			t.Fatalf("event %+v", failed)
		}
		failed.Err = nil
		same(t, failed, reentrant.Event{Locks: 3})
		v.pass(lease / 4)
		j.take(t, "renewed", "renewed", "renewed")

		held := lease/3 + lease/4
		must(t, c.NewLock("a").Unlock(owned))
		must(t, c.NewLock("b").Unlock(owned))
		j.take(t, "released", "released")
		v.mini.Del("c")
		if err := c.NewLock("c").Unlock(owned); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock: %v", err)
		}
		lost := j.take(t, "lost")[0]
		var why *reentrant.LostError
		if !errors.As(lost.Err, &why) || *why != (reentrant.LostError{Name: "c", Owner: owner, Held: held, Reason: reentrant.Overridden}) {
			t.Fatalf("event %+v", lost)
		}
		lost.Err = nil
		same(t, lost, reentrant.Event{Name: "c", Owner: owner, Held: held})
	})
}

// Calls that get nothing and hold nothing are no events.
func TestTimeNoEventsOfNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		j := &journal{}
		l := v.client(j.all()).NewLock("job")
		if ok, err := l.TryLock(v.ctx, 0, 0); ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		if err := l.Lock(ctx); err == nil {
			t.Fatal("locked")
		}
		v.pass(time.Minute)
		j.take(t)
	})
}

package redlatchotel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redlatch/redlatch/redlatchotel"
	"github.com/redlatch/redlatch/reentrant"
)

// The names, kinds and units are those of the package comment: dashboards depend on them.
func TestInstruments(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		l := r.client("billing").NewLock("order:1")
		must(t, l.Lock(r.ctx))
		must(t, l.Unlock(r.ctx))
		var got []string
		for name, m := range r.metrics() {
			kind := "histogram"
			if sum, is := m.Data.(metricdata.Sum[int64]); is {
				kind = map[bool]string{true: "counter", false: "up-down counter"}[sum.IsMonotonic]
			}
			got = append(got, fmt.Sprint(name, ", ", kind, ", ", m.Unit))
			if h, is := m.Data.(metricdata.Histogram[float64]); is &&
				!slices.Equal(h.DataPoints[0].Bounds, []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}) {
				t.Errorf("%s has the buckets %v", name, h.DataPoints[0].Bounds)
			}
		}
		slices.Sort(got)
		if want := []string{
			"redlatch.acquire.duration, histogram, s",
			"redlatch.hold.active, up-down counter, {hold}",
			"redlatch.hold.duration, histogram, s",
			"redlatch.losses, counter, {loss}",
			"redlatch.renewals, counter, {renewal}",
			"redlatch.resubscriptions, counter, {resubscription}",
			"redlatch.waiter.active, up-down counter, {call}",
			"redlatch.wakeups, counter, {wakeup}",
		}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		r.want("redlatch.acquire.duration", "acquire.how=free 1 0.0s") // no name, no group
	})
}

// Each way to get a lock and each way to end a hold has its series.
func TestCallsAndHolds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		c := r.client("billing")
		l := c.NewLock("order:42")
		me, you := r.as("me"), r.as("you")
		must(t, l.Lock(me))
		must(t, l.Lock(me))
		must(t, l.Unlock(me))
		wait := begin(func() error { return l.Lock(you) })
		r.pass(2 * time.Second)
		r.want("redlatch.hold.active", "client.name=billing 1")
		r.want("redlatch.waiter.active", "client.name=billing 1")
		must(t, l.Unlock(me))
		must(t, wait())
		must(t, l.Unlock(you))

		other := r.plain().NewLock("order:42")
		hold, err := other.Acquire(r.ctx)
		must(t, err)
		wait = begin(func() error { return l.Lock(me) })
		r.pass(time.Second)
		must(t, hold.Release(r.ctx))
		must(t, wait())
		r.mini.FlushAll()
		r.pass(lease)
		_ = l.Unlock(me)

		must(t, l.Lock(me))
		r.mini.SetError("NOPERM no")
		if err := l.Unlock(me); err == nil {
			t.Error("a release that Redis refused")
		}
		r.mini.SetError("")
		r.want("redlatch.acquire.duration",
			"acquire.how=free lock.group=order 2 0.0s", "acquire.how=handoff lock.group=order 1 2.0s",
			"acquire.how=message lock.group=order 1 1.0s", "acquire.how=reentry lock.group=order 1 0.0s")
		lines := r.lines("redlatch.hold.duration")
		if len(lines) != 4 || lines[0] != "hold.end=handed_over lock.group=order 1 2.0s" ||
			lines[2] != "hold.end=released lock.group=order 1 0.0s" || lines[3] != "hold.end=unconfirmed lock.group=order 1 0.0s" {
			t.Errorf("holds %q", lines)
		}
		r.want("redlatch.losses", "loss.reason=lease_ended 0", "loss.reason=overridden 1")
	}, redlatchotel.WithGroup(redlatchotel.BeforeColon))
}

// A call that ends without the lock says why.
func TestErrorTypes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		c := r.client("")
		l := c.NewLock("job")
		holder := r.plain().NewLock("job")
		must(t, holder.LockLease(r.ctx, time.Hour))
		me := r.as("me")
		if ok, err := l.TryLock(me, 0, 0); ok || err != nil {
			t.Fatal(ok, err)
		}
		cancelled, cancel := context.WithCancel(me)
		cancel()
		_ = l.Lock(cancelled)
		r.mini.SetError("NOPERM no")
		_ = l.Lock(me)
		r.mini.SetError("")

		must(t, holder.Unlock(r.ctx))
		lost := c.NewLock("lost")
		must(t, lost.Lock(me))
		r.mini.FlushAll()
		_ = lost.Lock(me)

		few := r.client("", reentrant.WithReplicaAcks(1, time.Millisecond)).NewLock("few")
		_ = few.Lock(me)
		closed := r.client("")
		must(t, closed.Close(r.ctx))
		_ = closed.NewLock("job").Lock(me)
		r.want("redlatch.acquire.duration",
			"acquire.how=free 1 0.0s", "error.type=busy 1 0.0s", "error.type=canceled 1 0.0s", "error.type=closed 1 0.0s",
			"error.type=lost 1 0.0s", "error.type=redis 1 0.0s", "error.type=replicas 1 0.0s")
	})
}

// However many groups the function returns, there are 100 series and the rest.
func TestGroupsAreBounded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		c := r.client("")
		for i := range 130 {
			l := c.NewLock(fmt.Sprint("order", i))
			must(t, l.Lock(r.ctx))
			must(t, l.Unlock(r.ctx))
		}
		lines := r.lines("redlatch.hold.duration")
		if len(lines) != 101 || !slices.Contains(lines, "hold.end=released lock.group=other 30 0.0s") {
			t.Errorf("%d series, %q", len(lines), lines)
		}
	}, redlatchotel.WithGroup(func(name string) string { return name }))
}

func TestBeforeColon(t *testing.T) {
	for name, want := range map[string]string{"order:42": "order", "a:b:c": "a", "nightly": "nightly"} {
		if got := redlatchotel.BeforeColon(name); got != want {
			t.Errorf("%q is of group %q, want %q", name, got, want)
		}
	}
}

// The figures of Clients of one name add up, and do not fall when one of them goes.
func TestObservedClientsAddUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		a, b := r.plain(), r.plain()
		stopA, err := r.telemetry.Observe(a, "billing")
		must(t, err)
		stopB, err := r.telemetry.Observe(b, "billing")
		must(t, err)
		defer stopB()
		la, lb := a.NewLock("a"), b.NewLock("b")
		must(t, la.Lock(r.ctx))
		must(t, lb.Lock(r.ctx))
		r.pass(lease / 3)
		r.want("redlatch.hold.active", "client.name=billing 2")
		renewals := []string{"client.name=billing 2", "client.name=billing error.type=redis 0"}
		r.want("redlatch.renewals", renewals...)
		stopA()
		stopA()
		r.want("redlatch.hold.active", "client.name=billing 1")
		r.want("redlatch.renewals", renewals...)
		must(t, la.Unlock(r.ctx))
		must(t, lb.Unlock(r.ctx))
	})
}

// Failed renewals and the reasons of wake-ups are counted.
func TestRenewalsAndWakeUps(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig) {
		c := r.client("billing")
		held := c.NewLock("held")
		must(t, held.Lock(r.ctx))
		r.mini.SetError("LOADING no")
		r.pass(lease / 3)
		r.mini.SetError("")
		must(t, r.plain().NewLock("job").LockLease(r.ctx, 900*time.Millisecond))
		l := c.NewLock("job")
		must(t, l.Lock(r.as("me")))
		must(t, l.Unlock(r.as("me")))
		must(t, held.Unlock(r.ctx))
		s := c.Stats()
		r.want("redlatch.renewals", fmt.Sprint("client.name=billing ", s.Renewals), fmt.Sprint("client.name=billing error.type=redis ", s.RenewFailures))
		r.want("redlatch.wakeups", "client.name=billing wakeup.cause=message 0", fmt.Sprint("client.name=billing wakeup.cause=poll ", s.WakeUps.Poll),
			fmt.Sprint("client.name=billing wakeup.cause=subscribed ", s.WakeUps.Subscribed), "client.name=billing wakeup.cause=ttl 1")
		if s.RenewFailures == 0 {
			t.Error("no renewal failed")
		}
	})
}

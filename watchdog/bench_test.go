package watchdog_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// quiet is a holder that does as little as one can.
type quiet struct{ watchdog.Watch }

func (*quiet) Renewed(time.Time)   {}
func (*quiet) Lost(watchdog.Cause) {}

func TestHotPathDoesNotAllocate(t *testing.T) {
	w := (&redis{}).start(watchdog.Config{})
	defer closeNow(t, w)
	others := make([]quiet, 1000)
	for i := range others {
		w.Add(&others[i].Watch, target(i), &others[i], renewable())
	}
	var h quiet
	to := target(1)
	w.Add(&h.Watch, to, &h, renewable())
	w.Remove(&h.Watch)
	if n := testing.AllocsPerRun(10_000, func() {
		w.Add(&h.Watch, to, &h, renewable())
		w.Update(&h.Watch, renewable())
		w.Remove(&h.Watch)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkAddRemove(b *testing.B) {
	w := (&redis{}).start(watchdog.Config{})
	defer w.Close(b.Context())
	others := make([]quiet, 10_000)
	for i := range others {
		w.Add(&others[i].Watch, target(i), &others[i], renewable())
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var h quiet
		to := target(1)
		for pb.Next() {
			w.Add(&h.Watch, to, &h, renewable())
			w.Remove(&h.Watch)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	w := (&redis{}).start(watchdog.Config{})
	defer w.Close(b.Context())
	others := make([]quiet, 10_000)
	for i := range others {
		w.Add(&others[i].Watch, target(i), &others[i], renewable())
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Update(&others[5000].Watch, renewable())
	}
}

// BenchmarkPeriod100k is the watchdog's own work for one period: 100,000 leases
// fall due at once, are renewed by a Redis that answers at once, and are
// scheduled again. ns/op is a period's.
func BenchmarkPeriod100k(b *testing.B) {
	const n = 100_000
	answers := all(watchdog.Renewed, make([]watchdog.Target, 8*500))
	var round sync.WaitGroup // counts down leases that are still to be renewed
	hs := make([]counted, n)
	w := watchdog.New(watchdog.Config{
		Lease: lease,
		Renew: func(_ context.Context, ts []watchdog.Target, _ time.Duration) []watchdog.Result {
			return answers[:len(ts)]
		},
	})
	defer w.Close(b.Context())
	for i := range hs {
		hs[i].round = &round
		w.Add(&hs[i].Watch, target(i), &hs[i], watchdog.Schedule{ValidUntil: time.Now().Add(time.Hour)})
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		round.Add(n)
		w.DueNow() // the period's passing
		b.StartTimer()
		w.Kick()
		round.Wait()
	}
}

type counted struct {
	watchdog.Watch
	round *sync.WaitGroup
}

func (c *counted) Renewed(time.Time)   { c.round.Done() }
func (c *counted) Lost(watchdog.Cause) { panic("lost") }

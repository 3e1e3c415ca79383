package multilock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// BenchmarkLockUnlock compares a lock on one server with locks over several, free and
// without rivals.
func BenchmarkLockUnlock(b *testing.B) {
	s := startServers(b, 5)
	var f fleet
	for _, server := range s {
		f = append(f, newClient(b, server.Client(b), reentrant.WithLease(realLease)))
	}
	ctx := b.Context()
	run := func(name string, l interface {
		multilock.Locker
		Do(ctx context.Context, fn func(ctx context.Context) error) error
	}) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := l.Do(ctx, func(context.Context) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("Single", f[0].NewLock("single"))
	for _, n := range []int{1, 3, 5} {
		run(fmt.Sprint("All", n), f[:n].all(b, "all"))
	}
	for _, n := range []int{3, 5} {
		run(fmt.Sprint("Quorum", n), f[:n].quorum(b, "quorum"))
		run(fmt.Sprint("QuorumWithoutQuarantine", n), f[:n].quorum(b, "quorum", multilock.WithoutQuarantine()))
	}
}

// BenchmarkPlainTraffic takes a lock of all whose members another Client's goroutines hold in turn,
// without a pause. waits is how many times as long that takes as plain callers wait for the members,
// one after the other.
func BenchmarkPlainTraffic(b *testing.B) {
	s := startServers(b, 1)
	for _, n := range []int{2, 3, 5} {
		for _, hold := range []time.Duration{time.Millisecond, 8 * time.Millisecond, 30 * time.Millisecond} {
			b.Run(fmt.Sprintf("All%d/Hold%v", n, hold), func(b *testing.B) {
				mine, others := s.process(b)[0], s.process(b)[0]
				lock := func(c *reentrant.Client, i int) *reentrant.Lock { return c.NewLock(fmt.Sprint("account:", i)) }
				tr := plainTraffic(b.Context(), func(i int) *reentrant.Lock { return lock(others, i) }, n, hold)
				defer tr.stop(b)
				var members []multilock.Locker
				var sum, took time.Duration
				for i := range n {
					l := lock(mine, i)
					members = append(members, l)
					var waits [9]time.Duration
					for i := range waits {
						waits[i] = waitOf(b, b.Context(), l.Lock, l.Unlock)
					}
					slices.Sort(waits[:])
					sum += waits[len(waits)/2] // some first ones find the lock free
				}
				l, err := multilock.New(members...)
				must(b, err)
				for b.Loop() {
					took += waitOf(b, b.Context(), l.Lock, l.Unlock)
				}
				b.ReportMetric(float64(took)/float64(b.N)/float64(sum), "waits")
			})
		}
	}
}

package multilock_test

import (
	"context"
	"fmt"
	"testing"

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

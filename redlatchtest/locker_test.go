package redlatchtest

import (
	"testing"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// The library's own locks pass.
func TestLockersPass(t *testing.T) {
	for name, newLocker := range map[string]func(t testing.TB, r *Redis) Locker{
		"plain":   func(_ testing.TB, r *Redis) Locker { return r.Client().NewLock("order:42") },
		"fencing": func(_ testing.TB, r *Redis) Locker { return r.Client().NewLock("order:42", reentrant.WithFencing()) },
		"fair":    func(_ testing.TB, r *Redis) Locker { return r.Client().NewFairLock("order:42") },
		"write":   func(_ testing.TB, r *Redis) Locker { return r.Client().NewReadWriteLock("order:42").Write() },
		"MultiLock": func(t testing.TB, r *Redis) Locker {
			c := r.Client()
			l, err := multilock.New(c.NewLock("order:42"), c.NewLock("order:43"))
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		"quorum": func(t testing.TB, r *Redis) Locker {
			c := r.Client()
			l, err := multilock.NewQuorumWith([]multilock.Locker{c.NewLock("order:42"), c.NewLock("order:43"), c.NewLock("order:44")}, multilock.WithoutQuarantine())
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			TestLocker(t, newLocker)
		})
	}
}

package redlatchtest

import (
	"errors"
	"sync"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// HoldByAnother has another process take the lock of that name, with the prefix if the Clients have one. So the lock
// is busy for every Client of the test, and on every goroutine. release, which may be called again, has it released,
// and a waiter gets it. The hold is renewed until then, and ends with the test at the latest. The other process meets
// none of the faults of [Redis.Refuse] and the like.
//
// The lock is a plain one. To hold one of another kind, take it by a second [Redis.Client]. A lock that is not free
// within 1 s stops the test.
func (r *Redis) HoldByAnother(name string) (release func()) {
	r.t.Helper()
	ctx, cancel := limited(r.t)
	defer cancel()
	// A new owner each time: a second call for the same name must find the lock busy, and not enter it again.
	hold, err := r.another.NewLock(name).Acquire(reentrant.WithNewOwner(ctx), reentrant.WithWait(time.Second))
	if err != nil {
		r.t.Fatalf("redlatchtest: another process cannot take lock %q: %v", name, err)
	}
	return sync.OnceFunc(func() {
		ctx, cancel := limited(r.t)
		defer cancel()
		// The test may have taken the lock away by Lose.
		if err := hold.Release(ctx); err != nil && !errors.Is(err, reentrant.ErrLost) {
			r.t.Errorf("redlatchtest: another process cannot release lock %q: %v", name, err)
		}
	})
}

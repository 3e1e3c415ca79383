package faulttests

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The power fails: the end of the append-only file never reached the disk, and with it a lock
// and the token that it was given. The holder is told by its next renewal and does not
// make the lock anew; the next one has a higher token, though the counter is behind, so that a
// resource refuses the first. The cut goes through the middle of a command, as it may.
func TestFault03PowerLoss(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	noise := listenToNoise(t)
	s := redistest.Start(t, redistest.WithAOF())
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	d := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	mine, theirs := c.NewLock("l", reentrant.WithFencing()), d.NewLock("l", reentrant.WithFencing())
	me := owner(t.Context(), "me")
	before, err := mine.Acquire(me)
	must(t, err)
	must(t, before.Release(me))
	_, file := s.AOF(t)
	onDisk, err := os.Stat(file)
	must(t, err)

	hold, err := mine.Acquire(me)
	must(t, err)
	s.Kill()
	all, err := os.Stat(file)
	must(t, err)
	if all.Size() < onDisk.Size()+100 {
		t.Fatalf("%d bytes were written for an acquire", all.Size()-onDisk.Size())
	}
	must(t, os.Truncate(file, onDisk.Size()+40))
	s.Restart()
	if got := locktest.Held(t, s, "l"); len(got) > 0 {
		t.Fatalf("the lock is on the disk: %v", got)
	}
	// Whoever asks now gets the lock, and the holder knows nothing of it yet: for at most
	// a third of the lease, which is why tokens are there.
	next, err := theirs.Acquire(me)
	must(t, err)
	granted := time.Now()
	if next.Token() <= hold.Token() {
		t.Errorf("token %d after %d", next.Token(), hold.Token())
	}
	locktest.InTime(t, 2*lease, "the loss", hold.Lost())
	if d := time.Since(granted); d > noise.allow(lease/3+100*time.Millisecond) {
		t.Errorf("two holders for %v", d)
	}
	var lost *reentrant.LostError
	if !errors.As(locktest.ContextCause(hold), &lost) || lost.Reason != reentrant.Overridden {
		t.Errorf("lost because of %v", locktest.ContextCause(hold))
	}
	wants(t, hold.Release(me), reentrant.ErrLost)
	if got := locktest.Held(t, s, "l"); len(got) != 1 || got[next.Owner()] != "1" {
		t.Errorf("Redis has %v", got)
	}
	must(t, next.Release(me))
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}

package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Kind is a kind of lock as a test of a fault meets it: what an owner holds, and what another owner wants beside it
// and does not get.
type Kind struct {
	Name  string
	Held  func(c *reentrant.Client, name string, opts ...reentrant.LockOption) *reentrant.Lock
	Rival func(c *reentrant.Client, name string, opts ...reentrant.LockOption) *reentrant.Lock
	Fixed time.Duration // the lease of the hold; 0: it is renewed
	Token bool          // both have fencing tokens

	registry func(name string) (command, key string) // counts who waits for Rival
	counts   bool                                    // Redis has the hold count
}

// The kinds.
var (
	Plain = Kind{Name: "plain", Held: (*reentrant.Client).NewLock, Rival: (*reentrant.Client).NewLock, Token: true,
		registry: registered("ZCARD", "redlatch_waiters:"), counts: true}
	Write = Kind{Name: "write", Held: writeSide, Rival: writeSide, Token: true,
		registry: registered("ZCARD", "redlatch_waiters:"), counts: true}
	// WriteBeforeReads is a write for whose end readers wait.
	WriteBeforeReads = Kind{Name: "write before reads", Held: writeSide, Rival: readSide,
		registry: func(name string) (string, string) { return "ZCARD", "redlatch_waiters:{" + name + "}:readers" }, counts: true}
	// Read is a renewed read, which shares the lease of its Client's readers.
	Read = Kind{Name: "read", Held: readSide, Rival: writeSide,
		registry: registered("ZCARD", "redlatch_waiters:")}
	// FixedRead is a read with a field and a lease of its own.
	FixedRead = Kind{Name: "fixed read", Held: readSide, Rival: writeSide, Fixed: time.Minute,
		registry: registered("ZCARD", "redlatch_waiters:"), counts: true}
	Fair = Kind{Name: "fair", Held: (*reentrant.Client).NewFairLock, Rival: (*reentrant.Client).NewFairLock, Token: true,
		registry: registered("LLEN", "redisson_lock_queue:"), counts: true}
)

// OtherKinds are all kinds but the plain one. AllKinds are those, and that one first.
var (
	OtherKinds = []Kind{Write, WriteBeforeReads, Read, FixedRead, Fair}
	AllKinds   = append([]Kind{Plain}, OtherKinds...)
)

func registered(command, begin string) func(name string) (string, string) {
	return func(name string) (string, string) { return command, begin + "{" + name + "}" }
}

func writeSide(c *reentrant.Client, name string, opts ...reentrant.LockOption) *reentrant.Lock {
	return c.NewReadWriteLock(name, opts...).Write()
}

func readSide(c *reentrant.Client, name string, opts ...reentrant.LockOption) *reentrant.Lock {
	return c.NewReadWriteLock(name, opts...).Read()
}

// Each runs a test once for each kind.
func Each(t *testing.T, kinds []Kind, test func(t *testing.T, k Kind)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) { test(t, k) })
	}
}

// Renewed are the kinds whose holds are renewed.
func Renewed(kinds ...Kind) (renewed []Kind) {
	for _, k := range kinds {
		if k.Fixed == 0 {
			renewed = append(renewed, k)
		}
	}
	return renewed
}

// Acquire takes the lock as this kind of hold.
func (k Kind) Acquire(ctx context.Context, c *reentrant.Client, name string, opts ...reentrant.AcquireOption) (*reentrant.Hold, error) {
	if k.Fixed > 0 {
		opts = append([]reentrant.AcquireOption{reentrant.WithFixedLease(k.Fixed)}, opts...)
	}
	return k.Held(c, name).Acquire(ctx, opts...)
}

// Waiting is how many rivals Redis knows of: Clients, and of a fair lock calls.
func (k Kind) Waiting(t testing.TB, s *redistest.Server, name string) int64 {
	t.Helper()
	command, key := k.registry(name)
	return s.Do(t, command, key).(int64)
}

// Registered waits until Redis knows of so many rivals.
func (k Kind) Registered(t testing.TB, s *redistest.Server, name string, n int64) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, "rivals are registered", func() bool { return k.Waiting(t, s, name) == n })
}

// Has checks that Redis has the one holder with that count, as far as Redis counts.
func (k Kind) Has(t testing.TB, s *redistest.Server, name string, hold *reentrant.Hold, count string) {
	t.Helper()
	if !k.counts {
		count = "1"
	}
	got := Held(t, s, name)
	delete(got, "mode")
	if len(got) != 1 {
		t.Errorf("%s: Redis has %v", k.Name, got)
	}
	for field, n := range got {
		if n != count || k.counts && field != hold.Owner() {
			t.Errorf("%s: Redis has %v, want %s of %s", k.Name, got, count, hold.Owner())
		}
	}
}

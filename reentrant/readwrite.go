package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// ReadWriteLock is a reentrant lock that many owners read together, and one owner writes alone. It is Redisson's
// RReadWriteLock. It is safe for use by many goroutines and holds no state of its own.
//
// [ReadWriteLock.Read] and [ReadWriteLock.Write] are its two sides, with all methods of a [Lock]. The other methods are
// short for calls of those.
//
//   - An owner that writes may read, too: that is a hold of its own, which goes on when the write is
//     released. So an owner goes from writing to reading without a moment in which another owner writes. With a [Hold]
//     of the write, context.WithoutCancel of its ctx keeps the owner and outlives the write.
//   - An owner that reads cannot write before it has released: it would wait for itself. The call returns [ErrUpgrade]
//     at once, and sends nothing.
//   - A write that waits bars further reads, except nested ones. After each write all reads that wait in other Clients come
//     first, and then one write: neither side waits for ever for the other. In one Client calls come in
//     the order of their arrival. [WithReadersFirst] changes that.
//   - Redisson's readers do not know of Redlatch's writers that wait, and enter before them.
//
// The order of the second and third point is a trap: an owner that reads must not wait for another
// owner's read. A write that waits may be between the two, and none of the three goes on. Give both calls the ctx of the hold.
//
// Renewed reads of one Client share a lease: they are lost together, and most of them send nothing ([Stats] counts these as
// Shared). A read joins a lease that Redis has confirmed within the last 10 ms. So it may begin that long after a
// [Lock.ForceUnlock], or after another Client's write has begun to wait. Reads with a fixed lease, inside a write, of a
// MultiLock, and of a Client with [WithMaxHold] have leases of their own.
//
// The last release goes through Redis, whatever [WithHandoff] says. Only writes have fencing tokens.
type ReadWriteLock struct {
	read, write *Lock
}

// NewReadWriteLock returns the read-write lock of that name, which is as for [Client.NewLock]. It does no I/O. A name is of
// one kind of lock: a call for a name of another kind returns [ErrForeignKey].
func (c *Client) NewReadWriteLock(name string, opts ...LockOption) *ReadWriteLock {
	l := &ReadWriteLock{read: c.newLock(readWrite, name, opts), write: c.newLock(readWrite, name, opts)}
	l.read.mode, l.read.fencing = lockstate.Shared, false
	return l
}

// WithReadersFirst lets a read enter beside other reads also while a write waits, as Redisson does. Reads that
// follow each other without a gap keep a write waiting for as long as they do. Give it to all Clients of the lock. It changes
// nothing for a lock of another kind.
func WithReadersFirst() LockOption {
	return func(l *Lock) { l.readersFirst = true }
}

// Name returns the name, without the Client's prefix.
func (l *ReadWriteLock) Name() string { return l.read.name }

// Read returns the side that owners share.
func (l *ReadWriteLock) Read() *Lock { return l.read }

// Write returns the side that one owner has alone. Its acquisitions may return [ErrUpgrade], which is
// [ErrNotAcquired], too.
func (l *ReadWriteLock) Write() *Lock { return l.write }

// Reads reports whether the lock is the reading side of a [ReadWriteLock], which many owners have together.
func (l *Lock) Reads() bool { return l.mode == lockstate.Shared }

// Lock is Write().Lock.
func (l *ReadWriteLock) Lock(ctx context.Context) error { return l.write.Lock(ctx) }

// TryLock is Write().TryLock.
func (l *ReadWriteLock) TryLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	return l.write.TryLock(ctx, wait, lease)
}

// Unlock is Write().Unlock.
func (l *ReadWriteLock) Unlock(ctx context.Context) error { return l.write.Unlock(ctx) }

// RLock is Read().Lock.
func (l *ReadWriteLock) RLock(ctx context.Context) error { return l.read.Lock(ctx) }

// TryRLock is Read().TryLock.
func (l *ReadWriteLock) TryRLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	return l.read.TryLock(ctx, wait, lease)
}

// RUnlock is Read().Unlock.
func (l *ReadWriteLock) RUnlock(ctx context.Context) error { return l.read.Unlock(ctx) }

// ErrUpgrade: the owner reads, and wants to write. It would wait for its own read, so the call ends at once and nothing was
// sent. The error is [ErrNotAcquired], too. [UpgradeError]
var ErrUpgrade = errors.New("redlatch: the owner reads, and cannot write before it has released")

// UpgradeError is [ErrUpgrade] and [ErrNotAcquired] with the lock and the owner.
type UpgradeError struct {
	Name  string
	Owner string // its field as a reader
}

func (e *UpgradeError) Error() string {
	return fmt.Sprintf("redlatch: lock %q: %s reads it, and cannot write before it has released", e.Name, ownerWords(e.Owner))
}

// Is makes it [ErrUpgrade] and [ErrNotAcquired].
func (e *UpgradeError) Is(target error) bool { return target == ErrUpgrade || target == ErrNotAcquired }

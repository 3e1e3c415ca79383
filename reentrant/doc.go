// Package reentrant is a reentrant distributed lock on Redis, compatible with Redisson's RLock. A lock is
// a lease in Redis. One owner at a time holds it, and may take it again in the same call chain. The
// library renews the lease, and tells the owner when the lock is lost.
//
// # Use
//
// A [Client] makes locks on one Redis. Make one with [New], share it, and [Client.Close] it at the end.
// [Lock.Do] runs a function under the lock; [Lock.Acquire] returns the hold as a value, a [Hold], whose
// ctx ends when the lock is lost. [Lock.Lock], [Lock.TryLock] and [Lock.Unlock] have the shape that
// Redisson's users know. [Client.Check] says at the start of a program whether locks will work on this
// Redis. [Client.Inspect] says who holds a lock and who waits for it.
//
// # Who the owner is
//
// A call looks at its ctx from the inside out. The owner is the first of
//
//   - a hold of this very lock, and of this Client, that ctx comes from ([Hold.Context], [Lock.Do]): the
//     call enters it again, on any goroutine;
//   - the owner that [WithOwner] or [WithNewOwner] has put there, for every lock;
//   - the calling goroutine, if ctx says nothing.
//
// So nested calls on the same goroutine need nothing, and calls on other goroutines need the hold's ctx.
// Goroutines that share the ctx of one lock are kept apart by all other locks. An owner that locks three
// times unlocks three times. The file docs/owners.md has this case by case, with a picture.
//
// # What a lease promises
//
// The lock is an advisory lease. Two owners do not hold a lock together while Redis keeps its
// data, clocks neither jump nor drift much, and a holder stops when told of a loss. A holder that is
// stopped (by the garbage collector, the scheduler, SIGSTOP) for longer than its lease cannot be told in
// time. A program that must be certain has the resource check the fencing token ([WithFencing]). A
// failover or restart can make Redis forget a lock. The file docs/guarantees.md says all this in full.
//
// # Errors
//
// If the lock was not taken, Lock, LockLease, TryLock, Acquire and Do return an error that is
// [ErrNotAcquired] and its cause. A cause is ctx's error, [ErrClosed], [ErrForeignKey], [ErrReplicas] or
// an error of Redis. Nothing of the call is left locked, and an outer hold stays. The error is [ErrBusy]
// too if another owner has the lock when the wait ends, at its limit or at the deadline of ctx. At the
// limit TryLock returns false and nil instead. Two kinds are not ErrNotAcquired. Invalid arguments are
// [ErrInvalidName] and its like, and nothing was sent. By [ErrLost] a nested call tells that the lock of
// the calls above it is lost.
//
// Unlock and Release return [ErrNotHeld], [ErrLost] or [ErrUnconfirmed], and [ErrClosed] once the Client
// is closed. A cancellation of their ctx does not end them. So a lock is released after SIGTERM, too, and
// Close waits a second for that. [Hold.Extend] and [Hold.ReleaseAfter] also return [ErrNotExtended],
// [ErrRenewed] and [ErrNested].
package reentrant

// Package reentrant is a reentrant distributed lock on Redis, compatible with Redisson's
// RLock: a lease in Redis that one owner at a time holds, may take again in the same
// call chain, keeps by renewing it, and is told about when it is lost.
//
// # Use
//
// A [Client] makes locks on one Redis. Make one with [New], share it, and [Client.Close] it
// at the end. [Lock.Do] runs a function under the lock; [Lock.Acquire] returns the hold
// as a value, a [Hold], whose ctx ends when the lock is lost. [Lock.Lock], [Lock.TryLock] and
// [Lock.Unlock] have the shape that Redisson's users know. [Client.Check] says at the start of a
// program whether locks will work on this Redis, and [Client.Inspect] who holds one and who waits.
//
// # Who the owner is
//
// A call looks at its ctx from the inside out. The owner is the first of
//
//   - a hold of this very lock, and of this Client, that ctx comes from ([Hold.Context], [Lock.Do]):
//     the call enters it again, on any goroutine;
//   - the owner that [WithOwner] or [WithNewOwner] has put there, for every lock;
//   - the calling goroutine, if ctx says nothing.
//
// So nested calls on the same goroutine need nothing, and others the hold's ctx; goroutines that
// share the ctx of one lock are kept apart by all others. An owner that locks three times unlocks
// three times. The file docs/owners.md has this case by case, with a picture.
//
// # What a lease promises
//
// It is an advisory lease. Two owners do not hold a lock at the same time while Redis
// keeps its data, its clock does not jump, clocks drift by less than 1 %, and a holder that
// is told of a loss stops. A holder that is stopped (by the garbage collector, the scheduler,
// SIGSTOP) for longer than its lease cannot be told in time; whoever must be certain
// has the resource check the fencing token ([WithFencing]). A failover or restart can make
// Redis forget a lock. The file docs/guarantees.md says all this in full.
//
// # Errors
//
// For a lock that was not taken, Lock, LockLease, TryLock, Acquire and Do return an error
// that is [ErrNotAcquired] and its cause, such as ctx's error, [ErrClosed], [ErrForeignKey],
// [ErrReplicas] or an error of Redis; nothing of the call is left locked, and an outer hold
// stays. It is [ErrBusy] too if another owner has the lock: where TryLock returns false and nil, and where the
// deadline of ctx ended the wait. Two kinds are not ErrNotAcquired: invalid arguments ([ErrInvalidName] and its like),
// for which nothing was sent, and [ErrLost], with which a nested call tells that the lock of
// the calls above it is lost.
//
// Unlock and Release return [ErrNotHeld], [ErrLost] or [ErrUnconfirmed], and [ErrClosed] once the
// Client is closed. A cancellation of their ctx does not end them: after SIGTERM, too, a lock is
// released, and Close waits a second for that. [Hold.Extend] and [Hold.ReleaseAfter] have
// [ErrNotExtended], [ErrRenewed] and [ErrNested] besides.
//
// # Inside
//
// One queue for each name and Client (lockstate.go) is first come, first served. At any
// time it is in one of these states:
//
//	idle       nobody of this Client holds the lock or waits for it
//	leading    the first waiter talks to Redis; the others wait for it (wait.go)
//	held       an ownership is live (ownership.go)
//	releasing  the ownership is on its way to the next waiter, or to Redis (handoff.go)
//
// An ownership is live, then releasing, then ended, or lost while live. It has a lease
// (lease.go), what stands in Redis for it, which the watchdog watches exactly while
// the ownership is live. A write-behind hand-off (writebehind.go) ends a live ownership and gives its
// lease to the next one, without a command; the field in Redis follows (fieldsync.go). All
// of this is guarded by lockState.mu, which is never held during I/O.
//
// Commands about one lock leave one at a time, numbered, under the queue's wire
// (call.go). Redis may answer
//
//   - late: the call has ended by then at its ctx or limit. The command was sent from
//     a goroutine of its own, which settles the answer: a lock that nobody waits for
//     any more goes to the next waiter or back to Redis.
//   - twice, because a command was resent: scripts take the state that is wanted, so
//     the second run changes nothing.
//   - never: the outcome is unknown. The next command carries an epoch that voids
//     whatever is still on its way, and a background task (cleanup.go) frees the
//     owner's field until Redis confirms it or the lease has passed.
//
// Waiting (wait.go) is for the first of: a message, the end of the holder's lease, a
// bounded poll, a subscription that was confirmed or replaced, a hand-off inside the
// Client, the end of ctx, the limit, Close. Messages are hints; only a script's answer
// grants a lock.
//
// All commands go through the program's go-redis client and its hooks. Renewals leave its pool
// when that does not answer (lanes.go, redisio.Detours); a command about a lock never does, but has
// the pool's dead connections found before it is repeated (redisio.Courier).
//
// Mutexes are taken in the order lockState.mu, then Client.mu or those of the watchdog
// and the hub; never two queues' at once. Goroutines: the watchdog's and the hub's,
// which they own; one for each command whose caller can leave (call), kept for a while for the next (redisio.Workers), one for each
// clean-up (lockState.background), one that writes the Client's name while it is in use (namerecord.go), one for each queue whose field lags behind its holder
// (lockState.follow), and one or a few for each renewal (lanes.go), which Close waits for. While a
// pool does not answer, short ones ask its idle connections (redisio.Courier). In a Cluster go-redis reads its map on a goroutine of
// its own when redisio.Reloader asks for it.
package reentrant

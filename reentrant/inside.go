package reentrant

// How this package works, for those who change it.
//
// A Client has one lock state for each lock in use (lockstate.go). Package internal/lockstate decides for it:
// which owners of this Client hold the lock, the wait queue, which is first come, first served, and what has
// to be sent next. This package is the engine around it. Each verb has the same shape:
//
//	decide     with lockState.mu: the state says what is to be sent, or that nothing is
//	send       with the command turn, and without a mutex (sequencer.go, commands.go)
//	settle     with lockState.mu: the state takes the answer, or its absence, as things stand then
//
// An ownership is live, then releasing, then ended (ownership.go). It ends without a release if it is lost,
// handed over by write-behind, or left at Close. It has a lease (lease.go): what Redis keeps for it. The
// watchdog watches the lease exactly while the ownership is live. A write-behind hand-off ends a live
// ownership and gives its lease to the next owner, without a command; the field in Redis is synced later
// (fieldsync.go). lockState.mu guards all of this, and is never held during I/O.
//
// A kind of lock (kind.go) is with whom an owner shares it, and its keys, channels and scripts. There are three: the
// plain lock (plain.go), the fair lock (fairkind.go) and the read-write lock (readwritekind.go).
//
// The commands that change one lock leave one at a time, numbered, each with the command turn
// (sequencer.go, commands.go). Redis may answer
//
//   - late: the call has ended by then, at its ctx or its limit. A goroutine of its own has sent the
//     command (call.go) and settles the answer. If the command took a lock for a call that has left, the
//     lock goes to the next waiter or back to Redis.
//   - twice, because a command was sent again: a script sets the state that is wanted, so the second run
//     changes nothing.
//   - never: the outcome is unknown. The next command sets an epoch, which voids the commands that are
//     still on their way. If the owner has left, a clean-up (cleanup.go) frees its field until Redis
//     confirms it or the lease has passed.
//
// Each lock state also keeps since when Redis has not answered. It decides when a wait ends, and whether a
// lock still counts as busy.
//
// A waiter that leads tries again (wait.go) at the first of: a wake-up, the end of the holder's lease, a
// bounded poll, a subscription that was confirmed or replaced. Its wait ends with a hand-off inside the
// Client, a grant by the release of another Client (grant.go), the end of ctx, the limit, or Close. All other
// messages are hints.
//
// All commands go through the program's go-redis client and its hooks. If its pool does not answer,
// renewals go past it (lanes.go, redisio.Detours). Commands that change a lock never do; before such a
// command is repeated, the pool's dead connections are found (redisio.Courier).
//
// Mutexes are taken in the order lockState.mu, then one of Client.mu, cleanups.mu, or those of the
// watchdog and the hub. No function locks two lock states at once.
//
// These goroutines run beside the callers'. Close waits for all but the last two kinds:
//
//   - The watchdog and the hub own theirs.
//   - A command whose caller can leave runs on a goroutine that is kept for the next one (call.go,
//     redisio.Workers).
//   - At most 16 goroutines carry out the clean-ups of all locks (cleanupqueue.go).
//   - One syncs the field of each lock whose field is another owner's (lockState.syncField).
//   - One writes the Client's name while the Client is in use (namerecord.go).
//   - Short ones go on with a release whose next owner has left (handoff.go), and give back the lock
//     of a call that has left (giveup.go). Others forget old losses (loss.go), and dial for a call
//     with wait 0 (quick.go).
//   - Each renewal has one or more (lanes.go).
//   - While a pool does not answer, short ones ask its idle connections, and redisio.Courier waits for
//     them.
//   - In a Cluster go-redis reads its map on a goroutine of its own when redisio.Reloader asks for it.
//   - The runtime has one on which leak.go tells of a Hold that was dropped.

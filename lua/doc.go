// Package lua defines what Redlatch keeps in Redis and every script that
// changes it, one operation a file.
//
// # Keys
//
// All keys of one lock share a hash tag, so a cluster keeps them in one slot. The lock itself, its
// channel and its token counter are Redisson's. The others are our own, begin with "redlatch_" and
// always have a TTL:
//
//	name                              hash: owner -> hold count, TTL = lease
//	redisson_lock__channel:{name}     channel: "0" freed (Java), or left to no owner for a while (Go);
//	                                  "-0" freed, and a client woken (Go)
//	redisson_lock__channel:{name}:id  channel of one client: it is its turn
//	redisson_lock_token:{name}        fencing counter
//	redlatch_waiters:{name}           sorted set: client id -> arrival, by Redis' clock
//	redlatch_turn:{name}              the client that was woken; others find the free lock taken
//	redlatch_epoch:{name}:id          commands of that client numbered below it are stale
//	redlatch_turn:{name}:barrier      of a read-write lock: a writer waits; see docs/protocol.md for its other keys
//	redlatch_client:{prefix+id}       what a client calls itself, if it does; in a slot of its own
//
// # Twice, late, never
//
// A client that gets no reply cannot know whether its script ran, or will run later. A request can
// sit in a socket buffer while Redis is stopped, and be executed long after the client gave up.
// Therefore:
//
//   - Scripts take the state that is wanted (a hold count, a holder), never an
//     increment, so that running one twice is running it once.
//   - Commands are sent as NoRetry: go-redis would resend without telling us. The
//     caller of this package resends, with a new number, and so knows that there
//     may be two.
//   - Every command that changes a lock carries a number that rises within the
//     client. After a command with an unknown outcome the next one sets the epoch,
//     and whatever is numbered below it changes nothing when it arrives at last.
//
// [Unknown] tells an error after which the script may have run, or may still
// run, from one after which it has not.
package lua

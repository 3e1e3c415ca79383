// Package redlatch is the root of Redlatch, a reentrant distributed lock on Redis for
// Go, compatible with Redisson's RLock. It has no code. Start with package reentrant.
//
//   - [github.com/redlatch/redlatch/reentrant] is the lock: a Client makes locks on
//     the redis client you give it. Lock, TryLock and Unlock have the shape that
//     Redisson's users know; Acquire and Do return or run a hold whose ctx ends when
//     the lock is lost.
//   - [github.com/redlatch/redlatch/multilock] joins locks of several servers, or of
//     several names: held when all are, or when more than half are.
//   - [github.com/redlatch/redlatch/leader] has one process of several lead, by a lock.
//   - [github.com/redlatch/redlatch/redlatchtest] is for tests of code that takes locks:
//     a Redis inside the test's process, and what can happen to it.
//   - [github.com/redlatch/redlatch/watchdog] renews all locks that a Client holds,
//     from one goroutine, in batches, and says when one is lost.
//   - [github.com/redlatch/redlatch/pubsub] shares one subscription connection among
//     all waiters of a Client.
//   - [github.com/redlatch/redlatch/lua] has every script that changes a lock, and
//     defines what is kept in Redis.
//
// The last three are what reentrant is built of. They are public to be read; most
// programs do not import them.
//
// To see a lock at work, in five seconds and without a server:
//
//	go run ./examples/quickstart
//
// Beside the code: README.md is the introduction, docs/guarantees.md says what is
// promised and what not, docs/tested.md what was tested, docs/testing.md how to test code
// that uses locks, docs/operations.md has logs and metrics, docs/protocol.md what is kept
// in Redis, SECURITY.md which permissions a Redis user needs.
package redlatch

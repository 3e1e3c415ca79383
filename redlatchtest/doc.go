// Package redlatchtest is for unit tests of code that takes locks. It needs no server.
//
// [New] makes a Redis in the test's process, and [Redis.Client] a Client of it, as another process would have one:
//
//	func TestBusy(t *testing.T) {
//		r := redlatchtest.New(t)
//		release := r.HoldByAnother("order:42")
//		...
//	}
//
// Both work inside a testing/synctest bubble: a wait of five minutes takes milliseconds there. Call [New] inside the
// bubble, with the bubble's t. Outside a bubble they work by the wall clock. Tests may be parallel, since each [Redis]
// is its own.
//
// A Redis can be told to lose a lock, to refuse or delay commands, to be silent, to drop replies and to restart.
// [TestLocker] is a conformance suite for wrappers and adapters of locks.
//
// The server is miniredis. It has no Cluster whose slots move, no sharded pub/sub, Sentinel, replicas, permissions,
// eviction or persistence. What depends on those needs a real server.
package redlatchtest

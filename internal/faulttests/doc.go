// Package faulttests has the tests of reentrant that need a real redis-server because they are about
// faults or topologies: servers that are stopped, killed, full or busy, what a proxy does to requests
// and replies, processes that die, Sentinel groups, Clusters, replicas, TLS. They use what programs
// can use, and nothing else of reentrant.
//
// A test of a fault is named after its row in docs/tested.md, TestFault39CancelAtEachStep, or
// TestFault16And17LostReplies for several; internal/docs holds the names against the table.
// TestFault without a number is a fault that has no row. A file is one fault or one kind of them:
//
//   - behind_: the fault meets hand-offs that are write-behind;
//   - kinds_: the fault meets read-write and fair locks; the other tests have plain ones, or subtests for the kinds;
//   - topology_: Sentinel, Clusters, replicas;
//   - _harness: what the tests share. What they share with those of reentrant is in locktest.
//
// The table has more tests than are here. Those whose fault can be played in virtual time are in
// reentrant, in the files virtualtime_, and other packages have theirs: all are found by their numbers,
// go test -run TestFault39 ./...
package faulttests

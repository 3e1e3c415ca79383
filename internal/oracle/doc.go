// Package oracle judges what package history has recorded, and what is left in Redis
// and in the process at the end. Each oracle returns what it found wrong, or nothing.
//
// Of a history:
//
//   - [Overlap]: no two owners may believe at the same time that a lock is theirs, but for readers of a
//     read-write lock.
//   - [Tokens]: fencing tokens rise from holder to holder, and stay on re-entry.
//   - [Linearizable]: there is an order of the calls that one lock could have answered
//     so, with outcomes that are unknown open to the end. Porcupine looks for it.
//     Locks with sides have the model of a read-write lock.
//   - [Order]: a fair lock goes to those who wait in the order in which they were seen in the line.
//   - [Losses]: a renewed hold is lost only where a fault explains it.
//   - [Told]: who has lost a hold hears of it when its validity ends.
//   - [Counts]: the hold count in Redis is the one that the owner has.
//   - [Releases]: the release of a hold never finds that there was none.
//   - [Progress]: who waits gets the lock once it is free and the faults are over, and
//     no call outlives its own limit.
//
// Of the end of a run: [Keys], [Channels], [Connections], [Goroutines] for what was left
// behind, and [Rate] for how much was asked of Redis.
//
// A [history.Fault] that Forgets excuses, for the holds of that moment and for as long as
// they were valid, that somebody else has the lock too: docs/guarantees.md says so.
package oracle

// Package torture has four torments that are too long for every run of the tests, and whose
// size is the point: processes that are killed and stopped over a server that is killed
// 35 times, a million names, 64,000 waiters for one lock, and a quorum of five servers
// one of which is restarted every two seconds. Each is bounded in time and in count, and has
// the oracles judge what was seen.
//
//	make torture
//	make torture TORTURE='-run TestQuorum'
package torture

// Package redistest starts and stops Redis servers for tests.
//
// There are two kinds of server. [Start] runs a real redis-server as a child
// process, on loopback and in the test's own directory; it can be killed,
// stopped like a paused machine, continued and restarted. [Mini] is miniredis
// in this process, without a socket, so that it also works inside a
// testing/synctest bubble, where leases of minutes pass in milliseconds.
// [StartSentinel] and [StartCluster] put several real servers together.
//
// The server is the redis-server in PATH: Redis from 5.0 on, or Valkey. What an older one
// lacks is skipped by [Needs], and where versions differ a test asks [AtLeast].
//
// Whatever a function here starts ends with the test that asked for it, by the
// handle it was started with, and at the latest when the test process dies.
package redistest

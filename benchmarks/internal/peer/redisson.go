//go:build unix

package peer

import "strings"

// Redisson runs in JVMs of its own: see package redisson. Its other kinds of lock are named after it.
var (
	Redisson = Peer{
		Name:     "redisson",
		Settings: "Redisson 4.7.0, defaults (RLock, lease 30 s, renewed), threads in JVMs that have warmed up",
	}
	redissonFair = Peer{Name: "redisson-fair", Settings: "the same, RFairLock", Special: true}
	redissonRead = Peer{Name: "redisson-read", Settings: "the same, the read lock of an RReadWriteLock", Special: true, Unsafe: true}
)

// RedissonKind is the kind of lock of one of these peers, as the Java program names it; empty for an RLock.
func RedissonKind(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, Redisson.Name), "-")
}

//go:build unix

package peer

// Redisson runs in JVMs of its own: see package redisson.
var Redisson = Peer{
	Name:     "redisson",
	Settings: "Redisson 4.7.0, defaults (RLock, lease 30 s, renewed), threads in JVMs that have warmed up",
}

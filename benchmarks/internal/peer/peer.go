//go:build unix

// Package peer has the lock libraries that are measured, behind one interface.
package peer

import (
	"context"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// Peer is a library with its settings.
type Peer struct {
	Name string
	// Settings says in a sentence how it was set up: the defaults unless that makes
	// the comparison pointless.
	Settings string
	// Ours is set for Redlatch: the others are what it is compared with.
	Ours bool
	// Special peers run only in workloads that ask for them.
	Special bool
	// Unsafe peers exclude nobody, as two scripts without a lock or a lock that is only read: there is nothing to check.
	Unsafe bool
	// LongWaits is set if a lock takes about as long as a slice where many want theirs:
	// slices would show next to nothing. Its windows count instead.
	LongWaits bool
	// On is the server that its locks are in, mostly Redis.
	On server.Kind
	// Open connects to that server. It is nil for a peer that is not a Go program.
	Open func(addr string) (Client, error)
}

// Client is what a process of an application has of a library: one connection pool
// for all its goroutines, as each library recommends.
type Client interface {
	// Lock makes a lock for one goroutine.
	Lock(name string) Lock
	Close() error
}

// Lock is a lock as one goroutine uses it.
type Lock interface {
	// Acquire waits until the lock is held, or ctx ends. Where a wait is costly to end, it
	// may go on: nobody holds a lock for long when a window has ended.
	Acquire(ctx context.Context) error
	Release(ctx context.Context) error
}

// Shared is a Lock that others may hold at the same time.
type Shared interface {
	Lock
	// Reading reports whether others may hold it at the same time.
	Reading() bool
}

// TwoSided is a Client whose goroutines may have different sides of a lock.
type TwoSided interface {
	Client
	Side(name string, write bool) Lock
}

// All are the peers in the order of the tables.
func All() []Peer {
	peers := []Peer{bareEmpty, bareSet, bareQueue, redsyncPeer, redislockPeer, rueidislockPeer, Redisson, redissonFair, redissonRead}
	for _, v := range variants {
		peers = append(peers, v.peer())
	}
	return append(peers, etcdPeer, etcdNoFsync, postgresPeer, postgresNoFsync)
}

// Find is the peer of that name.
func Find(name string) (Peer, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

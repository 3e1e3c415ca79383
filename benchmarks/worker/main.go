//go:build unix

// Worker is one of the processes of a benchmark and nothing else. make compare builds it
// once with each of two versions of Redlatch, with the same code of this module. So what
// it uses of Redlatch has to be in both: New, NewLock, NewFairLock, NewReadWriteLock, Lock,
// Unlock, RLock, RUnlock, Read, Write, Do, Close, Stats, WithLease, WithHandoff and WithOwner of reentrant, and New, Lock and Unlock of
// multilock.
package main

import (
	"fmt"
	"os"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
)

func main() {
	load.Child()
	fmt.Fprintln(os.Stderr, "worker: started by a benchmark, not by hand")
	os.Exit(2)
}

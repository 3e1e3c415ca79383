//go:build unix

package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// footprint is what a process occupies at a moment: bytes, and goroutines.
type footprint struct {
	heap, stacks int64
	goroutines   int
}

// footprintNow is what is left after a collection; the second one frees what the
// first has only found.
func footprintNow() footprint {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{heap: int64(m.HeapAlloc), stacks: int64(m.StackInuse), goroutines: runtime.NumGoroutine()}
}

func (f footprint) less(before footprint) footprint {
	return footprint{f.heap - before.heap, f.stacks - before.stacks, f.goroutines - before.goroutines}
}

// memory is all that goroutines and what they have made take.
func (f footprint) memory() int64 { return f.heap + f.stacks }

// processorTime is what the process has used.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it only fails for a wrong argument
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// objects is how many the process allocates in a window.
func objects(win Window) uint64 {
	var before, after runtime.MemStats
	win.Start.Sleep()
	runtime.ReadMemStats(&before)
	win.End.Sleep()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

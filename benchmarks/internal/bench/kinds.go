//go:build unix

package bench

import (
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
)

// kindWorkloads are those of fair and of read-write locks, beside plain ones and beside Redisson's. They
// are short: what they tell is a ratio to the plain lock.
func kindWorkloads() []Workload {
	return append(fairWorkloads(), readWorkloads()...)
}

func fairWorkloads() []Workload {
	return []Workload{
		{
			Name: "fair-one-process", Title: "64 goroutines, one lock, one process: plain, fair, write",
			Kind: load.Turns, Processes: 1, Goroutines: 64, Thirds: true,
			Alone: []string{"redlatch", "redlatch-fair", "redlatch-write", "redisson-fair"},
			Goals: []Goal{
				faster("redlatch-fair", 0.9, "redlatch"), scripts("redlatch-fair", 1.1),
				faster("redlatch-fair", 10, "redisson-fair"),
				faster("redlatch-write", 0.9, "redlatch"),
			},
		},
		{
			Name: "fair-processes", Title: "8 processes x 8 goroutines, one lock: plain, fair",
			Kind: load.Turns, Processes: 8, Goroutines: 8, Thirds: true,
			Alone: []string{"redlatch", "redlatch-fair"},
			Goals: []Goal{scripts("redlatch-fair", 3.2), even("redlatch-fair", 1.2)},
		},
		{
			Name: "fair-held-1ms", Title: "20 processes, one lock, held 1 ms: plain, fair",
			Kind: load.Turns, Processes: 20, Goroutines: 1, Hold: time.Millisecond, Thirds: true,
			Alone: []string{"redlatch", "redlatch-fair"},
			Goals: []Goal{scripts("redlatch-fair", 3.2), even("redlatch-fair", 1.2)},
		},
	}
}

// writerWaits is what a write may wait beside reads of 1 ms: three of them, and 20 ms.
const writerWaits = 23 * time.Millisecond

func readWorkloads() []Workload {
	return []Workload{
		{
			Name: "free-kinds", Title: "lock + unlock, free lock, 1 goroutine: plain, fair, read",
			Kind: load.Turns, Processes: 1, Goroutines: 1, OwnLocks: true, Thirds: true,
			Alone: []string{"redlatch", "redlatch-fair", "redlatch-read"},
			Goals: []Goal{faster("redlatch-read", 0.8, "redlatch"), scripts("redlatch-read", 2)},
		},
		{
			Name: "readers", Title: "64 goroutines read one lock, one process",
			Kind: load.Turns, Processes: 1, Goroutines: 64, Thirds: true,
			Alone: []string{"redlatch-read", "redisson-read"},
			Goals: []Goal{
				rate("redlatch-read", 300_000), scripts("redlatch-read", 0.05),
				faster("redlatch-read", 100, "redisson-read"),
			},
		},
		{
			Name: "readers-spread", Title: "8 processes x 8 goroutines read one lock",
			Kind: load.Turns, Processes: 8, Goroutines: 8, Thirds: true,
			Alone: []string{"redlatch-read"},
			Goals: []Goal{rate("redlatch-read", 100_000)},
		},
		{
			Name: "mostly-reads", Title: "60 goroutines read and 4 write, 8 processes, one lock, held 1 ms; waits of the writers",
			Kind: load.Turns, Processes: 8, Goroutines: 8, Hold: time.Millisecond, Thirds: true, WriterOf: 21,
			Alone: []string{"redlatch", "redlatch-read-write"},
			Goals: []Goal{within("redlatch-read-write", writerWaits)},
		},
		{
			Name: "many-readers", Title: "many readers of one lock, renewed",
			Kind: load.Held, Processes: 1, Once: true, readers: true,
			of: "readers", size: func(c Config) int { return max(1000, c.Locks/10) }, note: readersNote, measure: (*runner).held,
		},
	}
}

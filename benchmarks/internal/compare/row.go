//go:build unix

package compare

import (
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/paired"
)

// row is one kind of work, and what both versions did of it.
type row struct {
	Name      string
	work      load.Spec
	processes int
	scale     int  // slices are so many times as long, and as few; 0 is 1
	together  bool // both versions work at the same time: their processor time is what counts
	figures   []*figure
}

// figure is one that both versions are measured by, pair by pair. A greater one is a
// better one: acquisitions per second, or acquisitions for each thousand objects.
type figure struct {
	What  string
	of    func([]load.Recording, load.Window) float64
	pairs [2][]float64 // of the base, of the other
}

// note adds what a version did in a slice.
func (r *row) note(version int, recs []load.Recording, win load.Window) {
	for _, f := range r.figures {
		f.pairs[version] = append(f.pairs[version], f.of(recs, win))
	}
}

func (f *figure) ratio() paired.Ratio { return paired.Of(f.pairs[1], f.pairs[0]) }

func (f *figure) verdict() Verdict {
	ratio := f.ratio()
	if ratio.Pairs == 0 && len(f.pairs[0]) > 0 {
		return Nothing
	}
	return Judge(ratio)
}

// decided reports whether more slices are of no use.
func (r *row) decided() bool {
	for _, f := range r.figures {
		if f.verdict() == Undecided {
			return false
		}
	}
	return true
}

func perSecond(recs []load.Recording, win load.Window) float64 {
	return float64(load.Acquired(recs)) / win.Length().Seconds()
}

// perObjects is acquisitions for each thousand objects allocated.
func perObjects(recs []load.Recording, _ load.Window) float64 {
	var objects uint64
	for _, rec := range recs {
		objects += rec.Objects
	}
	return 1000 * float64(load.Acquired(recs)) / float64(max(1, objects))
}

// perProcessor is renewals for each second of processor time. How many fall into a window
// differs, since a round of them takes a while.
func perProcessor(recs []load.Recording, _ load.Window) float64 {
	k := recs[0].Held
	return float64(k.Renewals) / max(time.Microsecond, k.CPU).Seconds()
}

func pace() *figure { return &figure{What: "locks/s", of: perSecond} }

func allocations() *figure { return &figure{What: "locks/1000 objects", of: perObjects} }

// rows are what a later change of Redlatch must not make slower. 8 processes of 8 and 20
// processes are those of docs/benchmarks.md.
func rows(cfg Config) []*row {
	turns := func(peer string, goroutines int) load.Spec {
		return load.Spec{Kind: load.Turns, Peer: peer, Goroutines: goroutines}
	}
	free := turns("redlatch", 1)
	nested := free
	nested.Nested = true
	own := turns("redlatch", 256)
	own.OwnLocks = true
	held := turns("redlatch", 1)
	held.Hold = time.Millisecond
	multi := turns("redlatch-multilock-2", 1)
	multi.Traffic = 8 * time.Millisecond
	return []*row{
		{Name: "free lock, 1 goroutine", work: free, processes: 1, figures: []*figure{pace(), allocations()}},
		{Name: "nested in a held one", work: nested, processes: 1, figures: []*figure{pace(), allocations()}},
		{Name: "256 goroutines, a lock each", work: own, processes: 1, figures: []*figure{pace(), allocations()}},
		{Name: "256 goroutines, one lock", work: turns("redlatch", 256), processes: 1, figures: []*figure{pace(), allocations()}},
		{Name: "256 goroutines, one lock, write-behind", work: turns("redlatch-write-behind", 256), processes: 1, figures: []*figure{pace(), allocations()}},
		{Name: "8 processes x 8, one lock", work: turns("redlatch", 8), processes: 8, figures: []*figure{pace()}},
		{Name: "8 processes x 8, one lock, write-behind", work: turns("redlatch-write-behind", 8), processes: 8, figures: []*figure{pace()}},
		{Name: "20 processes, held 1 ms", work: held, processes: 20, scale: 2, figures: []*figure{pace()}},
		{Name: "MultiLock of 2 in traffic", work: multi, processes: 1, scale: 12, figures: []*figure{pace()}},
		{
			Name: "held locks, renewed", processes: 1, together: true,
			work:    load.Spec{Kind: load.Held, Peer: "redlatch", Locks: cfg.Locks, Lease: cfg.Lease},
			figures: []*figure{{What: "renewals/CPU s", of: perProcessor}},
		},
	}
}

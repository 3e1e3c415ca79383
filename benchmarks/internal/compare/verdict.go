package compare

import "github.com/redlatch/redlatch/benchmarks/internal/paired"

// Verdict is what a ratio with its spread says of the newer version.
type Verdict string

const (
	Slower    Verdict = "SLOWER"    // by more than 3 %, beyond the spread
	NotSlower Verdict = "ok"        // by no more than 3 %, beyond the spread
	Undecided Verdict = "undecided" // the spread is on both sides of 3 %
	Nothing   Verdict = "nothing"   // neither version did anything
)

// leastRatio is where a version is called slower.
const leastRatio = 0.97

// Judge needs all of the interval on one side of the limit.
func Judge(r paired.Ratio) Verdict {
	switch {
	case !r.Known():
		return Undecided
	case r.Hi < leastRatio:
		return Slower
	case r.Lo >= leastRatio:
		return NotSlower
	}
	return Undecided
}

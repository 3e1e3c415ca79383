package bench

import "slices"

// Result is a whole run, as it is written to JSON.
type Result struct {
	Machine   Machine
	Settings  Config
	Peers     []PeerNote
	LeftOut   []string `json:",omitempty"` // peers that could not run, and why
	Workloads []Section
	Scale     []Scaling `json:",omitempty"`
}

// PeerNote says how a peer was set up.
type PeerNote struct{ Name, Settings string }

// Section is a workload with what came of it.
type Section struct {
	Name     string
	Title    string
	Rows     []Row
	Outcomes []Outcome
	Paces    []Pace `json:",omitempty"` // of the slices; none where a slice is too short for the work
	Cells    []Cell // of the windows
}

// Pace is what came of a peer's slices, one in each sweep.
type Pace struct {
	Peer      string
	PerSecond []float64
}

// Scaling is one workload at a tenth of its size and in full, to show what grows
// with the size, and how.
type Scaling struct {
	Name    string
	Title   string
	Of      string // what Sizes counts
	Sizes   []int  // a tenth, and all
	Note    string `json:",omitempty"`
	Figures []Figure
}

// Figure is one of its figures.
type Figure struct {
	What    string
	Unit    Unit
	Values  []float64   // by size: the median of the rounds
	Rounds  [][]float64 // by size
	Limited bool        `json:",omitempty"`
	AtMost  float64     `json:",omitempty"` // if Limited, for the full size
}

// Unit says how a figure is to be read.
type Unit string

const (
	Span  Unit = "span" // nanoseconds
	Bytes Unit = "bytes"
	Count Unit = "count"
	Share Unit = "share" // of something else: commands per acquisition
)

// Met reports whether the figure is within its limit at the full size.
func (f Figure) Met() bool { return !f.Limited || f.Values[len(f.Values)-1] <= f.AtMost }

// Growth is the figure at the full size as multiple of that at a tenth; 0 when it
// cannot be told.
func (f Figure) Growth() float64 {
	if len(f.Values) != 2 || f.Values[0] <= 0 || f.Values[1] <= 0 {
		return 0
	}
	return f.Values[1] / f.Values[0]
}

// Figure finds one of the figures.
func (s Scaling) Figure(what string) (Figure, bool) {
	i := slices.IndexFunc(s.Figures, func(f Figure) bool { return f.What == what })
	if i < 0 {
		return Figure{}, false
	}
	return s.Figures[i], true
}

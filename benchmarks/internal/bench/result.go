package bench

import "time"

// Result is a whole run, as it is written to JSON.
type Result struct {
	Machine   Machine
	Settings  Config
	Peers     []PeerNote
	LeftOut   []string `json:",omitempty"` // peers that could not run, and why
	Workloads []Section
	Held      *HeldResult `json:",omitempty"`
}

// PeerNote says how a peer was set up.
type PeerNote struct{ Name, Settings string }

// Section is a workload with what came of it.
type Section struct {
	Name     string
	Title    string
	Rows     []Row
	Outcomes []Outcome
	Cells    []Cell
}

// HeldResult is what it costs to keep many locks.
type HeldResult struct {
	Locks        int
	Period       time.Duration // of renewal
	Window       time.Duration // that was measured
	CPU          time.Duration // per period, of the process, less idle
	ServerCPU    time.Duration // per period, of Redis, the other client's PINGs included
	Renewals     uint64        // in the window
	Scripts      int64         // in the window
	Lost         uint64
	Goroutines   int     // more than with few locks
	HeapPerLock  float64 // bytes
	PingP50      time.Duration
	PingP99      time.Duration // of another client meanwhile
	PingMax      time.Duration
	Pings        int
	ServerMemory float64 // bytes per lock
	Outcomes     []Outcome
}

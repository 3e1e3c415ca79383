//go:build unix

package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// Machine is where a run took place, and with what.
type Machine struct {
	Time    time.Time
	OS      string
	CPU     string
	Cores   int
	Go      string
	Redis   string
	Others  map[string]string `json:",omitempty"` // versions of the servers beside Redis
	Sync    time.Duration     `json:",omitempty"` // of 4 KiB to the disk on which these keep their data
	Load    string            `json:",omitempty"` // average of the last 1, 5 and 15 minutes before the run
	Modules map[string]string // versions of the libraries
}

func machine(redisVersion string) Machine {
	m := Machine{
		Time:    time.Now().UTC().Truncate(time.Second),
		OS:      runtime.GOOS + "/" + runtime.GOARCH,
		CPU:     processor(),
		Cores:   runtime.NumCPU(),
		Go:      runtime.Version(),
		Redis:   redisVersion,
		Load:    loadAverage(),
		Modules: make(map[string]string),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			for _, library := range []string{"redsync", "redislock", "rueidis", "go-redis", "etcd/client/v3", "pgx"} {
				if strings.Contains(dep.Path, library) {
					m.Modules[dep.Path] = dep.Version
				}
			}
		}
	}
	return m
}

// processor is the model as Linux has it, and empty elsewhere.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage tells whether the machine was busy with something else; empty where it cannot
// be told.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return ""
	}
	return strings.Join(fields[:3], ", ")
}

// note adds a server that is measured beside Redis, and how long its disk takes.
func (m *Machine) note(k server.Kind) {
	if m.Others == nil {
		m.Others, m.Sync = make(map[string]string), syncTime()
	}
	m.Others[string(k.Program)] = k.Version()
}

// syncTime is the median time in which a little more of a file reaches the disk of the
// temporary directory; 0 if that cannot be told.
func syncTime() time.Duration {
	f, err := os.CreateTemp("", "redlatch-benchmarks-")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var times []time.Duration
	for range 51 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0
		}
		if f.Sync() != nil {
			return 0
		}
		times = append(times, time.Since(began))
	}
	return median(times)
}

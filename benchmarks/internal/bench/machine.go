//go:build unix

package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine is where a run took place, and with what.
type Machine struct {
	Time    time.Time
	OS      string
	CPU     string
	Cores   int
	Go      string
	Redis   string
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
			for _, library := range []string{"redsync", "redislock", "rueidis", "go-redis"} {
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

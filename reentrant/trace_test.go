package reentrant_test

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the traces of TestTraces instead of comparing them")

// traceDir has one file for each scenario. Its README explains how to read them.
const traceDir = "testdata/traces"

// scenario is a short story about locks. What is seen of it, from the calls to the commands that
// reach Redis, is the trace that a file pins.
type scenario struct {
	name string // of the file
	head string // what happens, in a sentence or two
	play func(s *scene)
}

// TestTraces pins what the library does today: which commands it sends, in which order and when,
// which events and errors it makes of the answers.
func TestTraces(t *testing.T) {
	// One processor: a Client that subscribes to three channels at one instant does it with one
	// command or two, whichever goroutine is quicker.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := map[string]bool{"README.md": true}
	for _, scenarios := range [][]scenario{
		plainScenarios, waitScenarios, wakeScenarios, grantScenarios, handoffScenarios, leaseScenarios, lossScenarios, troubleScenarios, endScenarios, readWriteScenarios,
	} {
		for _, sc := range scenarios {
			want[sc.name+".txt"] = true
			t.Run(sc.name, func(t *testing.T) { compareTrace(t, sc.name, sc.head+"\n\n"+record(t, sc.play)) })
		}
	}
	files, err := os.ReadDir(traceDir)
	must(t, err)
	for _, file := range files {
		if !want[file.Name()] {
			t.Errorf("%s is the trace of no scenario", file.Name())
		}
	}
}

// compareTrace wants the trace to be the one in the file.
func compareTrace(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(traceDir, name+".txt")
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	b, err := os.ReadFile(path)
	must(t, err)
	if string(b) == got {
		return
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			was := "(the end)"
			if i < len(want) {
				was = want[i]
			}
			t.Fatalf("%s:%d was\n%s\nand is\n%s\n\nThe whole trace, which -update writes:\n%s", path, i+1, was, line, got)
		}
	}
	t.Fatalf("%s goes on after\n%s", path, got)
}

//go:build mutants

package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

const (
	// limit is for the tests of one mutant. A mutant that hangs is not caught: then the
	// tests would not tell their reader anything either.
	limit = 60 * time.Second
	// patience is for building them, too. It only ends a run that hangs.
	patience = 10 * time.Minute
)

var only = flag.String("only", "", "the mutants to try, by `names` with commas between them; all of them without it")

// Every mutant is caught by each test that is named for it, and by nothing but its
// mistake: without it the same tests pass.
func TestMutants(t *testing.T) {
	mutants, err := load("testdata")
	if err == nil && *only != "" {
		mutants, err = choose(mutants, strings.Split(*only, ","))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !t.Run("none", func(t *testing.T) { wantPass(t, mutants) }) {
		t.Fatal("the tests fail without a mutant, and so show nothing")
	}
	var table table
	t.Run("each", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel() // flag -parallel says how many
				began := time.Now()
				caught, worked := wantCaught(t, m)
				t.Logf("caught by %d of %d tests", len(caught), len(m.tests))
				table.add(m, caught, time.Since(began), worked)
			})
		}
	})
	t.Logf("%d mutants\n%s", len(mutants), table.String())
}

// wantPass runs the tests of all mutants on the real files.
func wantPass(t *testing.T, mutants []mutant) {
	tests := make(map[string][]string)
	for _, m := range mutants {
		tests[m.pkg] = append(tests[m.pkg], m.tests...)
	}
	for pkg, names := range tests {
		slices.Sort(names)
		names = slices.Compact(names)
		t.Run(pkg, func(t *testing.T) {
			r := run(t, pkg, names, nil)
			for _, name := range names {
				if r.results[name] != "pass" {
					t.Errorf("%s: %q\n%s", name, r.results[name], r.output)
				}
			}
		})
	}
}

// wantCaught runs the tests of one mutant on its files and returns those that failed, and
// the processor time for that.
func wantCaught(t *testing.T, m mutant) (caught []string, worked time.Duration) {
	dir, replace := t.TempDir(), make(map[string]string)
	for i, file := range m.files() {
		text, err := m.mutate(root, file)
		if err != nil {
			t.Fatal(err)
		}
		mutated := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(file)))
		write(t, mutated, []byte(text))
		replace[file] = mutated
	}
	r := run(t, m.pkg, m.tests, replace)
	for _, name := range m.tests {
		if r.results[name] == "fail" {
			caught = append(caught, name)
			continue
		}
		t.Errorf("%s survives %s (%q): %s\n%s", m.name, name, r.results[name], m.about, r.output)
	}
	return caught, r.worked
}

// result is what came of a run: of each test that has ended "pass", "fail" or "skip".
type result struct {
	results map[string]string
	output  string
	worked  time.Duration // processor time, that of building included
}

// run runs tests by name, on files of which some are replaced. A package that cannot be
// built fails t.
func run(t *testing.T, pkg string, tests []string, replace map[string]string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for file, by := range replace {
		overlay.Replace[absolute(t, file)] = by
	}
	// Nearly all of the time goes into building, most of that into tests that are not run.
	idle, err := notNeeded(filepath.Join(root, pkg), tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range idle {
		overlay.Replace[absolute(t, filepath.Join(pkg, file))] = "" // as if it were not there
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "overlay.json")
	write(t, path, list)
	args := []string{
		"test", "-overlay", path, "-json", "-vet=off", "-ldflags=-s", "-count=1",
		"-timeout", limit.String(), "-run", "^(" + strings.Join(tests, "|") + ")$", pkg,
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	// A test that is skipped for want of a server would neither pass nor catch anything.
	cmd.Env = append(os.Environ(), "REDLATCH_REQUIRE_REDIS=1")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	events, err := cmd.Output() // a failure is what is hoped for
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), errors.Join(err, ctx.Err()))
	}
	r := result{results: make(map[string]string), worked: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	var output strings.Builder
	output.WriteString(complaints.String())
	decoder := json.NewDecoder(bytes.NewReader(events))
	for {
		var e struct{ Action, Test, Output string }
		if derr := decoder.Decode(&e); derr == io.EOF {
			break
		} else if derr != nil {
			t.Fatalf("go %s: %v: %v\n%s", strings.Join(args, " "), err, derr, output.String())
		}
		output.WriteString(e.Output)
		switch e.Action {
		case "build-fail":
			t.Fatalf("does not compile:\n%s", output.String())
		case "pass", "fail", "skip":
			r.results[e.Test] = e.Action
		}
	}
	r.output = output.String()
	return r
}

// absolute is the path of a file that is named from the module's root.
func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// table is what the run prints.
type table struct {
	mu     sync.Mutex
	rows   []string      // guarded by mu
	worked time.Duration // guarded by mu
}

func (b *table) add(m mutant, caught []string, took, worked time.Duration) {
	by := strings.Join(caught, ", ")
	if by == "" {
		by = "NOTHING"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, fmt.Sprintf("%s\t%s\t%s\t%.1fs\t%.1fs\n",
		m.name, strings.TrimPrefix(m.pkg, "./"), by, took.Seconds(), worked.Seconds()))
	b.worked += worked
}

func (b *table) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.rows)
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "mutant\tpackage\tcaught by\ttook\tprocessor\n", strings.Join(b.rows, ""))
	_ = w.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&s, "%.0fs of processor time", b.worked.Seconds())
	return s.String()
}

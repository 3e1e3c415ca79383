package tracecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Jar is the environment variable that names TLC's jar. `make spec` sets it.
const Jar = "REDLATCH_TLC"

// Model is a copy of the specification, with TLC to run it.
type Model struct {
	jar, dir, spec string
}

// NewModel returns the model in the folder spec. Without TLC the test is skipped.
func NewModel(t testing.TB, spec string) *Model {
	t.Helper()
	jar := os.Getenv(Jar)
	if jar == "" {
		t.Skip(Jar + " names no jar of TLC: make spec fetches it")
	}
	return &Model{jar: jar, dir: t.TempDir(), spec: spec}
}

// progress is how far the model has followed one trace.
type progress struct {
	reached  int // the entry that is next, from 1
	violated string
	state    string // if it was asked for
}

var (
	reachedLine  = regexp.MustCompile(`^<<"reached", (\d+), (\d+)>>$`)
	violatedLine = regexp.MustCompile(`^<<"violated", "(\w+)", (\d+), (\d+)>>$`)
	finished     = "Model checking completed. No error has been found."
)

// explore has TLC follow the traces.
func (m *Model) explore(ctx context.Context, traces []*Trace, verbose bool) ([]progress, error) {
	if err := m.write(traces, verbose); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseSerialGC", "-cp", m.jar, "tlc2.TLC", "-workers", "1", "-metadir", filepath.Join(m.dir, "states"), "-config", "Trace.cfg", "Trace.tla")
	cmd.Dir = m.dir
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), finished) {
		return nil, fmt.Errorf("TLC: %w\n%s", errors.Join(err, ctx.Err()), complaint(string(out)))
	}
	return parse(string(out), len(traces)), nil
}

// write puts the modules, the traces and the configuration into the model's folder.
func (m *Model) write(traces []*Trace, verbose bool) error {
	for _, name := range []string{"Grant.tla", "Trace.tla", "Trace.cfg"} {
		text, err := os.ReadFile(filepath.Join(m.spec, name))
		if err != nil {
			return err
		}
		if verbose {
			text = []byte(strings.Replace(string(text), "Verbose = FALSE", "Verbose = TRUE", 1))
		}
		if err := os.WriteFile(filepath.Join(m.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(m.dir, "TraceData.tla"))
	if err != nil {
		return err
	}
	return errors.Join(writeModule(f, traces), f.Close())
}

// parse reads what the specification has printed.
func parse(out string, traces int) []progress {
	found := make([]progress, traces)
	var state []string
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if match := reachedLine.FindStringSubmatch(line); match != nil {
			p := &found[number(match[1])-1]
			p.reached, p.state, state = number(match[2]), "", nil
		} else if match := violatedLine.FindStringSubmatch(line); match != nil {
			if p := &found[number(match[2])-1]; p.violated == "" {
				p.violated, p.reached = match[1], max(p.reached, number(match[3]))
			}
		} else if len(found) == 1 && found[0].state == "" {
			state = append(state, line)
			if strings.HasSuffix(line, "]") {
				found[0].state = strings.Join(state, "\n")
			}
		}
	}
	return found
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // the pattern has digits only
	return n
}

// complaint is the part of TLC's output that says what is wrong.
func complaint(out string) string {
	if i := strings.Index(out, "Error: "); i >= 0 {
		out = out[i:]
	}
	return out[:min(len(out), 4000)]
}

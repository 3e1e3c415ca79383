//go:build unix

package docs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

const (
	terminations = 50
	sideBySide   = 5                      // programs at a time, each with a Redis of its own: they use one name
	wireTakes    = 4 * time.Millisecond   // each way of each command: so long are the moments of a release
	programTakes = 250 * time.Millisecond // about, left alone
)

// TestFirstProgramLeavesNoLockOnSIGTERM runs the first program of the documents and stops it at random moments: before it has the
// lock, at work, during a release. When it has exited the lock is free.
func TestFirstProgramLeavesNoLockOnSIGTERM(t *testing.T) {
	program := buildFirstProgram(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	var settled [3]atomic.Int32 // programs that came to settle an order so often
	for i := range sideBySide {
		server := redistest.Start(t)
		proxy := faultproxy.Start(t, server.Addr())
		proxy.Add(faultproxy.Rule{Action: faultproxy.Delay(wireTakes)})
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for range terminations / sideBySide {
				at := time.Duration(random.Int64N(int64(programTakes)))
				out, err := terminated(program, proxy.Addr(), at)
				if err != nil {
					t.Errorf("seed %d: %v\n%s", seed, err, out)
				}
				settled[min(strings.Count(out, "settled"), 2)].Add(1)
				if left := server.Do(t, "EXISTS", "order:42"); left != int64(0) {
					t.Errorf("seed %d: SIGTERM after %v left the lock behind for %v ms:\n%s",
						seed, at, server.Do(t, "PTTL", "order:42"), out)
					server.Do(t, "DEL", "order:42")
				}
			}
		})
	}
	all.Wait()
	t.Logf("stopped before the first order was settled: %d, before the second: %d, later: %d",
		settled[0].Load(), settled[1].Load(), settled[2].Load())
}

// terminated runs the program, sends it SIGTERM after a while, and returns what it said. A program that the signal
// has killed had not come to ask for it yet.
func terminated(program, addr string, after time.Duration) (out string, err error) {
	var said strings.Builder
	run := exec.Command(program)
	run.Env = append(os.Environ(), "DOCS_SERVER="+addr)
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		return "", err
	}
	stop := time.AfterFunc(after, func() { _ = run.Process.Signal(syscall.SIGTERM) })
	defer stop.Stop()
	stuck := time.AfterFunc(30*time.Second, func() { _ = run.Process.Kill() })
	defer stuck.Stop()
	err = run.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, _ := exit.Sys().(syscall.WaitStatus)
		if !status.Signaled() || status.Signal() == syscall.SIGTERM {
			err = nil // it says what it thinks of being stopped
		}
	}
	return said.String(), err
}

// buildFirstProgram builds the only program in docs/getting-started.md, with another address.
func buildFirstProgram(t *testing.T) string {
	t.Helper()
	var code string
	for _, b := range blocks(t) {
		if b.file == "docs/getting-started.md" && b.program() {
			code = b.source()
		}
	}
	const addr = `"localhost:6379"`
	if strings.Count(code, addr) != 1 || !strings.Contains(code, "signal.NotifyContext(") {
		t.Fatalf("docs/getting-started.md has no program for this test:\n%s", code)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(strings.Replace(code, addr, `os.Getenv("DOCS_SERVER")`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("%w\n%s", err, out))
	}
	return program
}

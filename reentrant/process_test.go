package reentrant_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

const increments = 10_000

// Two processes read a number from a file and write it back raised by one. Without
// exclusion between processes they would lose some.
func TestTwoProcessesCountInAFile(t *testing.T) {
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "number")
	must(t, os.WriteFile(file, []byte("0"), 0o600))
	var children []*exec.Cmd
	for range 2 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCountingChild$", "-test.v")
		child.Env = append(os.Environ(), "REDLATCH_COUNT_IN="+file, "REDLATCH_COUNT_AT="+server.Addr())
		child.Stdout = testWriter{t}
		child.Stderr = testWriter{t}
		must(t, child.Start())
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	}
	if got := readNumber(t, file); got != 2*increments {
		t.Errorf("counted to %d, want %d", got, 2*increments)
	}
}

// TestCountingChild is the body of a child process; alone it does nothing.
func TestCountingChild(t *testing.T) {
	file := os.Getenv("REDLATCH_COUNT_IN")
	if file == "" {
		t.Skip("runs as a child of TestTwoProcessesCountInAFile")
	}
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDLATCH_COUNT_AT")})
	defer rdb.Close()
	l := newClient(t, rdb).NewLock("number")
	for range increments {
		must(t, l.Lock(t.Context()))
		must(t, os.WriteFile(file, []byte(strconv.Itoa(readNumber(t, file)+1)), 0o600))
		must(t, l.Unlock(t.Context()))
	}
}

func readNumber(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	number, err := strconv.Atoi(string(text))
	must(t, err)
	return number
}

// testWriter shows a child's complaints.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "FAIL") || strings.Contains(string(p), "_test.go") {
		w.t.Logf("child: %s", p)
	}
	return len(p), nil
}

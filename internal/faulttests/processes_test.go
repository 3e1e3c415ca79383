package faulttests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func increments() int {
	if testing.Short() {
		return 1_000
	}
	return 10_000
}

// Two processes read a number from a file and write it back raised by one. Without
// exclusion between processes they would lose some. One of them has several goroutines,
// which hand the lock over write-behind.
func TestTwoProcessesCountInAFile(t *testing.T) {
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "number")
	must(t, os.WriteFile(file, []byte("0"), 0o600))
	var children []*exec.Cmd
	for _, goroutines := range []int{1, 4} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCountingChild$", "-test.v", fmt.Sprint("-test.short=", testing.Short()))
		child.Env = append(os.Environ(), "REDLATCH_COUNT_IN="+file, "REDLATCH_COUNT_AT="+server.Addr(),
			"REDLATCH_COUNT_BY="+strconv.Itoa(goroutines))
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
	got, err := readNumber(file)
	must(t, err)
	if want := 2 * increments(); got != want {
		t.Errorf("counted to %d, want %d", got, want)
	}
}

// TestCountingChild is the body of a child process; alone it does nothing.
func TestCountingChild(t *testing.T) {
	file := os.Getenv("REDLATCH_COUNT_IN")
	if file == "" {
		t.Skip("runs as a child of TestTwoProcessesCountInAFile")
	}
	goroutines, err := strconv.Atoi(os.Getenv("REDLATCH_COUNT_BY"))
	must(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDLATCH_COUNT_AT")})
	defer rdb.Close()
	mode := reentrant.Confirmed
	if goroutines > 1 {
		mode = reentrant.WriteBehind
	}
	l := locktest.NewClient(t, rdb, reentrant.WithHandoff(mode)).NewLock("number")
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for range increments() / goroutines {
				if err := countUp(t.Context(), l, file); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func countUp(ctx context.Context, l *reentrant.Lock, file string) error {
	if err := l.Lock(ctx); err != nil {
		return err
	}
	number, err := readNumber(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strconv.Itoa(number+1)), 0o600)
	}
	return errors.Join(err, l.Unlock(ctx))
}

func readNumber(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// testWriter shows a child's complaints.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "FAIL") || strings.Contains(string(p), "_test.go") {
		w.t.Logf("child: %s", p)
	}
	return len(p), nil
}

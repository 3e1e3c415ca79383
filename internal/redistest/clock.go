package redistest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

//go:embed clock/clock.c
var clockSource []byte

// Clock is the wall clock of servers that were started with it (WithClock), which a test
// may set. It is that of the machine until then, and nobody else's is touched: a small
// library, compiled here and loaded into the server before libc, adds an offset to it.
type Clock struct {
	tb      testing.TB
	library string
	offset  *os.File // nanoseconds by which it is ahead, in eight bytes that the servers map
}

// NewClock makes a clock. It needs Linux, without which the test is skipped, and a C
// compiler: without one the test is skipped too, or fails if REDLATCH_REQUIRE_REDIS=1 is
// set, as the race detector needs one as well.
func NewClock(t testing.TB) *Clock {
	t.Helper()
	return NewClocks(t, 1)[0]
}

// NewClocks makes several, each to be set by itself.
func NewClocks(t testing.TB, n int) []*Clock {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a server's clock can be set on Linux only")
	}
	dir := t.TempDir()
	library := compileClock(t, dir)
	clocks := make([]*Clock, n)
	for i := range clocks {
		offset, err := os.Create(filepath.Join(dir, fmt.Sprint("offset", i)))
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		t.Cleanup(func() { offset.Close() })
		clocks[i] = &Clock{tb: t, library: library, offset: offset}
		clocks[i].Set(0)
	}
	return clocks
}

// compileClock returns the path of the library.
func compileClock(t testing.TB, dir string) (library string) {
	t.Helper()
	compiler := findCompiler(t)
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	args := append(compiler[1:], "-O1", "-shared", "-fPIC", "-o", library, source)
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("redistest: %s %s: %v\n%s", compiler[0], strings.Join(args, " "), err, out)
	}
	return library
}

// Set puts the clock ahead of the machine's, or behind it if the duration is negative. It
// may be called from any goroutine; of two calls at the same time either may win.
func (c *Clock) Set(ahead time.Duration) {
	c.tb.Helper()
	var bytes [8]byte
	binary.NativeEndian.PutUint64(bytes[:], uint64(ahead))
	if _, err := c.offset.WriteAt(bytes[:], 0); err != nil {
		c.tb.Errorf("redistest: setting a clock: %v", err)
	}
}

// WithClock starts the server with that wall clock, which several servers may share.
func WithClock(clock *Clock) Option {
	return func(c *config) {
		c.env = append(c.env, "LD_PRELOAD="+clock.library, "REDLATCH_CLOCK="+clock.offset.Name())
	}
}

// Now is the time by the server's clock.
func (s *Server) Now(t testing.TB) time.Time {
	t.Helper()
	now, err := s.admin.Time(t.Context()).Result()
	if err != nil {
		t.Fatalf("redistest: TIME on %s: %v", s.Addr(), err)
	}
	return now
}

// findCompiler is the command of a C compiler.
func findCompiler(t testing.TB) []string {
	t.Helper()
	for _, command := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		if _, err := exec.LookPath(words[0]); err == nil {
			return words
		}
	}
	if os.Getenv("REDLATCH_REQUIRE_REDIS") == "1" {
		t.Fatal("no C compiler in PATH, which this test needs to set a server's clock (REDLATCH_REQUIRE_REDIS=1 forbids to skip)")
	}
	t.Skip("no C compiler in PATH: install one to run this test")
	return nil
}

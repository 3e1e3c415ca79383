//go:build unix

package load_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

func TestMain(m *testing.M) {
	load.Child()
	os.Exit(m.Run())
}

// The check must be able to fail: scripts that do nothing exclude nobody, and two
// processes must see each other.
func TestTwoHoldersAreSeen(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skipf("%v: install Redis", err)
	}
	srv, err := server.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	words := filepath.Join(t.TempDir(), "words")
	if err := shared.Create(words, 4); err != nil {
		t.Fatal(err)
	}
	group, err := load.Start(load.Spec{
		Kind: load.Turns, Peer: "evalsha-empty", Addr: srv.Addr, Name: "l",
		Goroutines: 1, Hold: time.Millisecond, Words: words,
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Stop()
	start := clock.Now().Add(10 * time.Millisecond)
	win := load.Window{Start: start, End: start.Add(200 * time.Millisecond)}
	if err := group.Begin(win); err != nil {
		t.Fatal(err)
	}
	recs, err := group.Results(win)
	if err != nil {
		t.Fatal(err)
	}
	if recs[0].Violations+recs[1].Violations == 0 {
		t.Error("two holders went unnoticed")
	}
}

//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/compare"
)

// TestSmoke builds the last commit and the working tree and runs each row for a moment.
func TestSmoke(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REDLATCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v: install Redis", err)
	}
	if err := exec.Command("git", "rev-parse", "--verify", "HEAD").Run(); err != nil {
		t.Skipf("git: %v: not in a repository", err)
	}
	cfg, err := parse([]string{"-module", "..", "-passes", "1", "-limit", "0s", "-locks", "1000", "-lease", "3s"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Slice, cfg.Lead, cfg.Pairs = 10*time.Millisecond, 5*time.Millisecond, 8
	var names []string
	cfg.Progress = func(_ int, row string) { names = append(names, row) }
	res, err := compare.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := res.Print(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
	for _, name := range names {
		if !strings.Contains(table.String(), "\n"+name+" ") {
			t.Errorf("the table has no row %q", name)
		}
	}
	if len(names) == 0 || !strings.Contains(table.String(), "head: working tree") {
		t.Errorf("rows: %q", names)
	}
}

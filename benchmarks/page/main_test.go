//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/pagecost"
)

// TestSmoke measures each part for a moment.
func TestSmoke(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REDLATCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v: install Redis", err)
	}
	cfg := parse([]string{"-keys", "2000", "-locks", "100", "-waiters", "5", "-rounds", "2"})
	cfg.Slice = 50 * time.Millisecond
	res, err := pagecost.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := res.Print(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
	for _, want := range []string{"\nno page ", "\na page is open ", "\na page searches all keys ", "2 searches"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the output has no %q", want)
		}
	}
	if res.Words < 4 {
		t.Errorf("the pages were told %d times", res.Words)
	}
}

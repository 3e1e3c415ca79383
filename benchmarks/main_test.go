//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
)

// TestMain makes the test's program fit to be run again as one of the processes.
func TestMain(m *testing.M) {
	load.Child()
	os.Exit(m.Run())
}

// brief has everything run for a moment.
func brief(t *testing.T) bench.Config {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REDLATCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v: install Redis", err)
	}
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := o.config
	c.Slice, c.Lead, c.Sweeps = 20*time.Millisecond, 5*time.Millisecond, 8
	c.For, c.Warm, c.WarmJVM, c.Rounds = 100*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond, 1
	c.Waiters, c.Names, c.Locks, c.Lease = 200, 1000, 1000, 3*time.Second
	c.Rest = 100 * time.Millisecond // what is left behind is not judged here
	c.Progress = func(_, _ int, what string) { t.Log(what) }
	return c
}

// TestSmoke runs every workload with every peer that is there for a moment.
func TestSmoke(t *testing.T) {
	c := brief(t)
	if testing.Short() {
		c.Jar = "" // twenty JVMs take a while to start
		// What is not ours is not for CI to judge.
		c.Peers = []string{"evalsha-set"}
		for _, p := range peer.All() {
			if p.Ours {
				c.Peers = append(c.Peers, p.Name)
			}
		}
	}
	res, err := bench.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, res)

	var tables bytes.Buffer
	report.Print(&tables, res, "")
	t.Logf("\n%s", tables.String())
	dir := t.TempDir()
	file := filepath.Join(dir, "result.json")
	if err := report.WriteJSON(file, res); err != nil {
		t.Fatal(err)
	}
	again, err := report.ReadJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	var same bytes.Buffer
	if report.Print(&same, again, ""); same.String() != tables.String() {
		t.Errorf("the tables are others when they come from JSON:\n%s", same.String())
	}
	if err := report.Plot(dir, again); err != nil {
		t.Fatal(err)
	}
	if plots, _ := filepath.Glob(filepath.Join(dir, "*.svg")); len(plots) != len(res.Workloads) {
		t.Errorf("%d plots of %d workloads", len(plots), len(res.Workloads))
	}
}

// TestOtherServers has the peers that are not on Redis pass a lock among processes, as far
// as their servers are installed: no test installs them.
func TestOtherServers(t *testing.T) {
	c := brief(t)
	c.Only, c.Peers = regexp.MustCompile("^processes$"), []string{"etcd", "etcd-no-fsync", "postgresql"}
	c.For = time.Second // a wait in etcd takes a tenth of one
	res, err := bench.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range res.LeftOut {
		t.Logf("left out: %s", why)
	}
	rows := 0
	for _, s := range res.Workloads {
		rows += len(s.Rows)
		for _, row := range s.Rows {
			if row.PerSecond == 0 || row.P50 == 0 || !row.Elsewhere || row.Rival {
				t.Errorf("%+v", row)
			}
		}
	}
	if want := len(c.Peers) - len(res.LeftOut); rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// checkResult wants something counted for Redlatch in every workload; the
// others may well get nothing in so short a time.
func checkResult(t *testing.T, res *bench.Result) {
	t.Helper()
	if got, want := len(res.Workloads)+len(res.Scale), len(bench.Workloads()); got != want {
		t.Errorf("%d workloads, want %d", got, want)
	}
	for _, s := range res.Workloads {
		for _, p := range s.Paces {
			if p.Peer == "redlatch" && (len(p.PerSecond) == 0 || slices.Max(p.PerSecond) == 0) {
				t.Errorf("%s: slices of redlatch: %v", s.Name, p.PerSecond)
			}
		}
		for _, row := range s.Rows {
			// No pass to the other process may fall into so short a hand-off.
			waited := row.P50 > 0 || s.Name == "hand-off"
			if s.Name == "multilock" { // a wait in traffic may be longer than the window
				continue
			}
			if strings.HasPrefix(row.Peer, "redlatch") && (row.PerSecond == 0 || !waited || row.Scripts == 0) {
				t.Errorf("%s: redlatch: %+v", s.Name, row)
			}
		}
	}
	counted := map[string][]string{
		"crowd":        {"time until all were served", "heap and stack, per waiter", "subscriptions", "PINGs"},
		"crowd-spread": {"time until all were served", "channels with subscribers", "EVALSHA per acquisition"},
		"churn":        {"time for all", "EVALSHA per lock", "PINGs"},
		"many-held":    {"renewals in the window", "PINGs"},
		"many-readers": {"renewals in the window", "heap per reader"},
	}
	for _, s := range res.Scale {
		for _, what := range counted[s.Name] {
			f, _ := s.Figure(what)
			if len(f.Values) != 2 || f.Values[0] <= 0 || f.Values[1] <= 0 {
				t.Errorf("%s: %s: %v", s.Name, what, f.Values)
			}
		}
		if lost, ok := s.Figure("locks lost"); ok && lost.Values[1] != 0 {
			t.Errorf("%v locks lost", lost.Values[1])
		}
	}
}

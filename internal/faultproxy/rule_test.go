package faultproxy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
)

// outcomes sends n INCRs one after the other and says which of them failed.
func outcomes(t *testing.T, rdb *redis.Client, n int) []bool {
	t.Helper()
	failed := make([]bool, n)
	for i := range failed {
		failed[i] = rdb.Incr(t.Context(), "n").Err() != nil
	}
	return failed
}

func TestSkipTimesRemove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry)
	h := r.proxy.Add(faultproxy.Rule{
		Match: faultproxy.Named("incr"), Skip: 2, Times: 2, Action: faultproxy.DropBefore,
	})
	want := []bool{false, false, true, true, false}
	if got := outcomes(t, rdb, 5); !slices.Equal(got, want) {
		t.Fatalf("failed: %v, want %v", got, want)
	}
	if h.Hits() != 2 || r.proxy.Commands("incr") != 5 {
		t.Fatalf("%d hits, %d commands", h.Hits(), r.proxy.Commands("incr"))
	}

	always := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Action: faultproxy.DropBefore})
	if got := outcomes(t, rdb, 2); !slices.Equal(got, []bool{true, true}) {
		t.Fatalf("failed: %v", got)
	}
	always.Remove()
	if got := outcomes(t, rdb, 1)[0]; got {
		t.Fatal("a removed rule acts")
	}
}

func TestFirstRuleWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry)
	first := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Times: 1, Action: faultproxy.DropBefore})
	second := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Times: 1, Action: faultproxy.DropAfter})
	outcomes(t, rdb, 1)
	if first.Hits() != 1 || second.Hits() != 0 {
		t.Fatalf("hits %d and %d", first.Hits(), second.Hits())
	}
	outcomes(t, rdb, 2)
	if first.Hits() != 1 || second.Hits() != 1 {
		t.Fatalf("hits %d and %d", first.Hits(), second.Hits())
	}
}

// A script is told from others by its hash, as a lock's release from its acquire.
func TestMatchScriptBySHA(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry)
	one, two := redis.NewScript("return 1"), redis.NewScript("return 2")
	for _, s := range []*redis.Script{one, two} {
		if err := s.Load(t.Context(), rdb).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r.proxy.Add(faultproxy.Rule{
		Match:  func(args []string) bool { return len(args) > 1 && args[1] == two.Hash() },
		Action: faultproxy.DropAfter,
	})
	if n, err := one.Run(t.Context(), rdb, nil).Int(); n != 1 || err != nil {
		t.Fatalf("one = %d, %v", n, err)
	}
	if _, err := two.Run(t.Context(), rdb, nil).Int(); err == nil {
		t.Fatal("two was answered")
	}
}

func TestChaosIsDeterministic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := func(seed uint64) string {
		r.Do(t, "DEL", "n")
		h := r.proxy.Chaos(seed, 0.3, faultproxy.Named("INCR"),
			faultproxy.DropBefore, faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.Duplicate)
		defer h.Remove()
		failed := outcomes(t, r.client(t, noRetry), 60)
		if h.Hits() == 0 || h.Hits() == 60 {
			t.Fatalf("acted on %d of 60", h.Hits())
		}
		return fmt.Sprint(failed, r.Do(t, "GET", "n"))
	}
	first := run(1)
	if again := run(1); again != first {
		t.Errorf("seed 1 gave\n%s\nand then\n%s", first, again)
	}
	if other := run(2); other == first {
		t.Error("seeds 1 and 2 gave the same")
	}
}

//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestNobodyStarves has four threads of a JVM and four goroutines want one lock all
// the time. Each side gets at least a quarter of the turns, and nobody waits more
// than ten times as long as the average.
func TestNobodyStarves(t *testing.T) {
	r := newFairnessRig(t)
	for _, c := range []struct {
		name    string
		clients int
		opts    []reentrant.Option
	}{
		{"OneClient", 1, nil},
		{"FourClients", workers, nil},
		{"OneClientRemote", 1, []reentrant.Option{reentrant.WithHandoff(reentrant.Remote)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clients := make([]*reentrant.Client, c.clients)
			for i := range clients {
				clients[i] = r.client(t, c.opts...)
			}
			contest(t, r, "fairness:"+c.name, clients).report(t)
		})
	}
}

const (
	workers = 4 // of each side
	held    = 5 * time.Millisecond
	during  = 4 * time.Second
)

func newFairnessRig(t testing.TB) *rig {
	s := redistest.Start(t)
	return &rig{server: s, java: startPeer(t, s.Addr())}
}

type outcome []turn

// contest lets both sides go for the lock. Whoever waits at the end gets its turn
// still, so that the wait of one that never had any is counted too.
func contest(t *testing.T, r *rig, name string, clients []*reentrant.Client) (all outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during+30*time.Second)
	defer cancel()
	// The first use loads classes and scripts.
	r.java.do(t, "take-turns", name, workers, 0, 50)
	for _, c := range clients {
		must(t, c.NewLock(name).Do(ctx, func(context.Context) error { return nil }))
	}

	fromJava := r.java.begin(t, "take-turns", name, workers, held.Milliseconds(), during.Milliseconds())
	type result struct {
		turns []turn
		err   error
	}
	fromGo := make(chan result, workers)
	end := time.Now().Add(during)
	for i := range workers {
		lock := clients[i%len(clients)].NewLock(name)
		go func() {
			turns, err := goTurns(ctx, fmt.Sprint("go ", i+1), lock,
				func() bool { return time.Now().Before(end) },
				func() error { time.Sleep(held); return nil })
			fromGo <- result{turns, err}
		}()
	}
	for range workers {
		res := await(t, fromGo, during+30*time.Second)
		must(t, res.err)
		all = append(all, res.turns...)
	}
	a := await(t, fromJava, during+30*time.Second)
	must(t, a.err)
	all = append(all, javaTurns(t, a.value)...)
	wantApart(t, all)
	return all
}

// report logs the figures and fails the test if they show that somebody starved.
func (o outcome) report(t *testing.T) {
	t.Helper()
	perWorker := make(map[string]int)
	var java int
	var sum time.Duration
	var longest turn
	sides := map[bool][]time.Duration{}
	for _, u := range o {
		perWorker[u.worker]++
		sum += u.wait()
		sides[u.java] = append(sides[u.java], u.wait())
		if u.java {
			java++
		}
		if u.wait() > longest.wait() {
			longest = u
		}
	}
	average := sum / time.Duration(len(o))
	share := float64(java) / float64(len(o))
	t.Logf("%d turns, %d changes of side: Redisson %.0f %%, Go %.0f %%; by worker %v",
		len(o), changes(o), 100*share, 100*(1-share), perWorker)
	t.Logf("waits: average %v; longest %v (%.1f times) of %s; Redisson %s; Go %s", average.Round(time.Microsecond),
		longest.wait(), float64(longest.wait())/float64(average), longest.worker, quantiles(sides[true]), quantiles(sides[false]))
	if share < 0.25 || share > 0.75 {
		t.Errorf("one side starves: Redisson had %.1f %% of the turns", 100*share)
	}
	if longest.wait() > 10*average {
		t.Errorf("%s waited %v, %.1f times the average %v", longest.worker, longest.wait(),
			float64(longest.wait())/float64(average), average)
	}
}

func quantiles(waits []time.Duration) string {
	if len(waits) == 0 {
		return "none"
	}
	slices.Sort(waits)
	at := func(q float64) time.Duration {
		return waits[int(q*float64(len(waits)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v p90 %v p99 %v max %v", at(.5), at(.9), at(.99), at(1))
}

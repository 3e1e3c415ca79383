//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Threads of a JVM and goroutines of two Clients raise one number with a GET and a
// SET. If two were ever inside at once, a step would be lost.
func testMutualExclusion(t *testing.T, r *rig) {
	const (
		name    = "exclusion"
		key     = "exclusion:number"
		workers = 4 // of each side
		rounds  = 150
	)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	rdb := r.redis(t)
	must(t, rdb.Set(ctx, key, 0, 0).Err())
	t.Cleanup(func() { rdb.Del(context.Background(), key) })

	// The lock is held until both sides wait for it: a JVM that has yet to load its
	// classes would come when the other side is done.
	clients := []*reentrant.Client{r.client(t), r.client(t)}
	gate, err := r.client(t).NewLock(name).Acquire(ctx)
	must(t, err)
	fromJava := r.java.begin(t, "count-up", name, workers, 0, rounds, key)
	type result struct {
		turns []turn
		err   error
	}
	fromGo := make(chan result, workers)
	for i := range workers {
		lock := clients[i%len(clients)].NewLock(name)
		left := rounds
		go func() {
			turns, err := goTurns(ctx, fmt.Sprint("go ", i), lock,
				func() bool { left--; return left >= 0 },
				func() error {
					n, err := rdb.Get(ctx, key).Int()
					if err != nil {
						return err
					}
					return rdb.Set(ctx, key, n+1, 0).Err()
				})
			fromGo <- result{turns, err}
		}()
	}
	redistest.Eventually(t, 30*time.Second, "both sides to wait", func() bool {
		channel, goes := "redisson_lock__channel:{"+name+"}", "redlatch_listeners:{"+name+"}"
		ours := r.listening(t, goes)
		return r.listening(t, channel)-ours == 1 && ours > 0 &&
			clients[0].Stats().Waiting+clients[1].Stats().Waiting == workers
	})
	must(t, gate.Release(ctx))
	var turns []turn
	for range workers {
		res := await(t, fromGo, 60*time.Second)
		must(t, res.err)
		turns = append(turns, res.turns...)
	}
	a := await(t, fromJava, 60*time.Second)
	must(t, a.err)
	turns = append(turns, javaTurns(t, a.value)...)

	got, err := rdb.Get(ctx, key).Result()
	must(t, err)
	if want := strconv.Itoa(2 * workers * rounds); got != want {
		t.Errorf("counted to %s, want %s", got, want)
	}
	wantApart(t, turns)
	t.Logf("counted to %s in %v; the lock changed sides %d times", got,
		time.Duration(turns[len(turns)-1].left-turns[0].got)*time.Microsecond, changes(turns))
	if !slices.ContainsFunc(turns, func(u turn) bool { return u.java }) || changes(turns) < 2 {
		t.Error("the sides never met")
	}
}

package redisio_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redisio"
)

// gate is a hook of a client that has no server. A command, or a pipeline, ends when the
// gate is opened.
type gate struct {
	open  chan struct{}
	under atomic.Int64 // how many wait at it
}

func (g *gate) pass() error {
	g.under.Add(1)
	defer g.under.Add(-1)
	<-g.open
	return nil
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }
func (g *gate) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return g.pass() }
}
func (g *gate) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return g.pass() }
}

// Four commands hang, and batches overtake them after 20 ms each. When all have returned
// there are four at a time again, as in the beginning: no more and no fewer.
func TestMutantCombinerCountsThoseThatOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const atATime = 4
		g := &gate{}
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}) // never dialled
		defer rdb.Close()
		rdb.AddHook(g)
		c := redisio.NewCombiner(rdb)
		for round := range 3 {
			g.open = make(chan struct{})
			var calls sync.WaitGroup
			send := func() { _ = c.Process(t.Context(), redis.NewCmd(t.Context(), "PING")) }
			for range 4 * atATime {
				calls.Go(send)
			}
			synctest.Wait()
			if n := g.under.Load(); n != atATime {
				t.Errorf("round %d: %d at a time, want %d", round, n, atATime)
			}
			for late := range 3 {
				time.Sleep(25 * time.Millisecond)
				synctest.Wait()
				if n := g.under.Load(); n != int64(atATime+1+late) {
					t.Errorf("round %d: %d hang, want %d", round, n, atATime+1+late)
				}
				calls.Go(send)
				synctest.Wait()
			}
			close(g.open)
			calls.Wait()
		}
	})
}

package faulttests

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// farAway has Redis answer later, and counts the scripts that went out in the largest pipeline.
type farAway struct {
	by      atomic.Int64
	largest atomic.Int64
}

func (f *farAway) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (f *farAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(f.by.Load()))
		return next(ctx, cmd)
	}
}

func (f *farAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if by := f.by.Load(); by > 0 {
			f.largest.Store(max(f.largest.Load(), int64(len(cmds))))
			time.Sleep(time.Duration(by))
		}
		return next(ctx, cmds)
	}
}

// A Client's renewals that are late go out together, in pipelines of scripts, without an
// option: on a Redis that is far away, four calls of one script are not enough.
func TestFault67RenewalsGoTogether(t *testing.T) {
	const locks = 4000 // two rounds of four calls, of 500 each
	rdb := redistest.Start(t).Client(t)
	far := &farAway{}
	rdb.AddHook(far)
	c := locktest.NewClient(t, rdb, reentrant.WithLease(30*time.Second))
	ctx := reentrant.WithOwner(t.Context(), "o")
	for i := range locks {
		must(t, c.NewLock(fmt.Sprint("lock:", i)).Lock(ctx))
	}
	far.by.Store(int64(2 * time.Second))
	redistest.Eventually(t, time.Minute, "a pipeline of scripts", func() bool { return far.largest.Load() > 1 })
	far.by.Store(0)
	for i := range locks {
		_ = c.NewLock(fmt.Sprint("lock:", i)).Unlock(ctx)
	}
}

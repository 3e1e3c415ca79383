package redisio

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// lastStraw is a hook of the user's that holds single commands, and does not return from a batch.
type lastStraw struct {
	hold chan struct{}
	end  func()
}

func (h *lastStraw) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *lastStraw) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "get" {
			<-h.hold
		}
		return next(ctx, cmd)
	}
}

func (h *lastStraw) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 1 && cmds[0].Name() == "incr" {
			h.end()
		}
		return next(ctx, cmds)
	}
}

// A hook does not return from a batch. The caller that sent the batch goes on with the panic. The
// other callers hear at once that it is not known whether their commands have run. The places in
// flight are free again.
func TestFault42CombinerSurvivesAPanic(t *testing.T) {
	for what, end := range map[string]func(){"panic": func() { panic("in a hook") }, "Goexit": runtime.Goexit} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, rdb := redistest.Mini(t)
				hook := &lastStraw{hold: make(chan struct{}), end: end}
				rdb.AddHook(hook)
				c := NewCombiner(rdb)
				var all sync.WaitGroup
				for range combineAbove {
					all.Go(func() { _ = c.Process(t.Context(), redis.NewStringCmd(t.Context(), "get", "a")) })
				}
				synctest.Wait()
				const many = 5
				errs := make(chan error, many)
				for range many {
					go func() { // whose panic is recovered, or who ends
						defer func() { _ = recover() }()
						errs <- c.Process(t.Context(), redis.NewIntCmd(t.Context(), "incr", "n"))
					}()
				}
				time.Sleep(2 * maxWait) // the first of them does not wait for longer
				synctest.Wait()
				close(hook.hold)
				all.Wait()
				if len(errs) != many-1 || c.sending != 0 || len(c.waiting) != 0 {
					t.Errorf("%d of %d heard of it; %d in flight, %d waiting", len(errs), many-1, c.sending, len(c.waiting))
				}
				for len(errs) > 0 {
					if err := <-errs; !errors.Is(err, ErrAborted) {
						t.Errorf("the others heard %v", err)
					}
				}
			})
		})
	}
}

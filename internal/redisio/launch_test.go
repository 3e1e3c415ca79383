package redisio

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A command is launched only into a batch. The one that begins a batch is sent by what run was given, those behind it by
// nobody else, and done is closed when they have their outcomes, though their callers have left.
func TestCombinerLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := redistest.Mini(t)
		hook := &lastStraw{hold: make(chan struct{}), end: func() {}}
		rdb.AddHook(hook)
		c := NewCombiner(rdb)
		var sends []func()
		run := func(send func()) { sends = append(sends, send) }
		if _, launched := c.Launch(t.Context(), redis.NewIntCmd(t.Context(), "incr", "n"), run); launched {
			t.Error("launched a command that would go alone")
		}
		for range combineAbove {
			go c.Process(t.Context(), redis.NewStringCmd(t.Context(), "get", "a")) // until the hook lets it go
		}
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		var cmds []*redis.IntCmd
		var all []<-chan struct{}
		for range 3 {
			cmd := redis.NewIntCmd(ctx, "incr", "n")
			done, launched := c.Launch(ctx, cmd, run)
			if !launched {
				t.Fatal("not launched into a batch")
			}
			cmds, all = append(cmds, cmd), append(all, done)
		}
		leave()
		if len(sends) != 1 {
			t.Fatalf("%d goroutines are to send one batch", len(sends))
		}
		go sends[0]()
		time.Sleep(2 * maxWait) // the batch does not wait for longer
		synctest.Wait()
		for i, cmd := range cmds {
			select {
			case <-all[i]:
			default:
				t.Errorf("command %d is not done", i)
			}
			if n, err := cmd.Result(); n != int64(i+1) || err != nil {
				t.Errorf("command %d: %d, %v", i, n, err)
			}
		}
		close(hook.hold)
		synctest.Wait()
		if c.sending != 0 || len(c.waiting) != 0 {
			t.Errorf("%d in flight, %d waiting", c.sending, len(c.waiting))
		}
	})
}

package reentrant_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// prompt is a go-redis hook that answers at once, without a server and a network: what is
// left to be measured is the library's own work, and go-redis' on the way to the hook.
type prompt struct{}

// granted is what every script answers when it has done what it was asked for.
var granted any = []any{int64(1), int64(0), int64(0), int64(0)}

func (prompt) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.(interface{ SetVal(any) }).SetVal(granted)
		return nil
	}
}

func (prompt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (prompt) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no server")
	}
}

func promptClient(b *testing.B, opts ...reentrant.Option) *reentrant.Client {
	b.Helper()
	rdb := redis.NewClient(&redis.Options{})
	rdb.AddHook(prompt{})
	b.Cleanup(func() { rdb.Close() })
	return newClient(b, rdb, opts...)
}

// A ctx that can end costs a goroutine for each command, which go-redis does not
// stop.
func BenchmarkLockUnlock(b *testing.B) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
	}{{"background", context.Background()}, {"cancellable", cancellable}} {
		b.Run("ctx="+c.name, func(b *testing.B) {
			l := promptClient(b).NewLock("l")
			b.ReportAllocs()
			for b.Loop() {
				must(b, l.Lock(c.ctx))
				must(b, l.Unlock(c.ctx))
			}
		})
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	l, ctx := promptClient(b).NewLock("l"), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Acquire(ctx)
		must(b, err)
		must(b, h.Release(ctx))
	}
}

func BenchmarkReentry(b *testing.B) {
	l, ctx := promptClient(b).NewLock("l"), context.Background()
	must(b, l.Lock(ctx))
	b.ReportAllocs()
	for b.Loop() {
		must(b, l.Lock(ctx))
		must(b, l.Unlock(ctx))
	}
	must(b, l.Unlock(ctx))
}

// BenchmarkHandOff has goroutines take the lock from each other; ns/op is a turn's.
func BenchmarkHandOff(b *testing.B) {
	for _, mode := range []struct {
		name string
		mode reentrant.Handoff
	}{{"confirmed", reentrant.Confirmed}, {"write-behind", reentrant.WriteBehind}} {
		for _, goroutines := range []int{2, 64} {
			b.Run(mode.name+"/goroutines="+strconv.Itoa(goroutines), func(b *testing.B) {
				takeTurns(b, promptClient(b, reentrant.WithHandoff(mode.mode)).NewLock("l"), goroutines)
			})
		}
	}
}

// takeTurns counts by b.N, since b.Loop is for one goroutine.
func takeTurns(b *testing.B, l *reentrant.Lock, goroutines int) {
	var turns atomic.Int64
	var all sync.WaitGroup
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	for range goroutines {
		all.Go(func() {
			for turns.Add(1) <= int64(b.N) {
				if err := errors.Join(l.Lock(ctx), l.Unlock(ctx)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

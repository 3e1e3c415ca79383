package redisio_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redisio"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// Many goroutines take a lock each while the first commands are slow, so that the
// rest goes in a pipeline. Each runs once, also where Redis had forgotten the script.
func TestCombiner(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		t.Run("script known: "+strconv.FormatBool(known), func(t *testing.T) {
			s := redistest.Start(t)
			proxy := faultproxy.Start(t, s.Addr())
			g := newGang(t, proxy)
			if known {
				g.first(t)
				s.Do(t, "CONFIG", "RESETSTAT")
			}
			slow := proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Times: 4, Action: faultproxy.Delay(100 * time.Millisecond)})
			defer slow.Remove()

			for i, err := range g.acquireAll(t) {
				if err != nil {
					t.Errorf("goroutine %d: %v", i, err)
				}
			}
			if g.pipelines.Load() == 0 || g.longest.Load() < 2 {
				t.Errorf("pipelines: %d, of up to %d commands", g.pipelines.Load(), g.longest.Load())
			}
			if n := len(s.Client(t).Keys(t.Context(), "gang:*").Val()); n != gangSize {
				t.Errorf("held: %d", n)
			}
			if known {
				if n := proxy.Commands("EVAL"); n != 1 { // that of first
					t.Errorf("EVAL: %d", n)
				}
			}
		})
	}
}

// The connection of a pipeline ends in the middle. Who was answered knows; all
// others are told that nobody knows, and no command is sent again.
func TestCombinerLosesReplies(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	proxy := faultproxy.Start(t, s.Addr())
	g := newGang(t, proxy)
	g.first(t)
	slow := proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Times: 4, Action: faultproxy.Delay(100 * time.Millisecond)})
	defer slow.Remove()
	// The fourth of the pipeline, whichever that is.
	lose := proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Skip: 3, Times: 1, Action: faultproxy.DropAfter})
	defer lose.Remove()

	answered, unknown := 0, 0
	for i, err := range g.acquireAll(t) {
		switch {
		case err == nil:
			answered++
			if s.Client(t).Exists(t.Context(), g.keys(i).Lock).Val() == 0 {
				t.Errorf("goroutine %d was told that it holds the lock", i)
			}
		case !lua.Unknown(err) || !errors.Is(err, io.EOF):
			t.Errorf("goroutine %d: %v", i, err)
		default:
			unknown++
		}
	}
	if answered != 4+3 || unknown != gangSize-answered {
		t.Errorf("answered: %d, unknown: %d", answered, unknown)
	}
	if n := proxy.Commands("EVALSHA"); n > gangSize+1 {
		t.Errorf("EVALSHA: %d", n)
	}
}

// Commands on dead connections do not hold up the others until go-redis gives up.
func TestCombinerDeadConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	proxy := faultproxy.Start(t, s.Addr())
	g := newGang(t, proxy)
	g.first(t)
	dead := proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Times: 4, Action: faultproxy.SwallowReply})
	defer dead.Remove()
	before := proxy.Commands("EVALSHA")
	// The first four go alone. The others are sent when the first ones are lost: a pipeline that
	// overtook one of them would be lost in its place.
	swallowed := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		defer close(swallowed)
		for proxy.Commands("EVALSHA") < before+4 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	})
	var quick atomic.Int64
	lost := 0
	for _, err := range g.all(func(i int) error {
		if i < 4 {
			return g.acquire(t.Context(), i)
		}
		<-swallowed
		began := time.Now()
		err := g.acquire(t.Context(), i)
		if time.Since(began) < time.Second {
			quick.Add(1)
		}
		return err
	}) {
		if lua.Unknown(err) {
			lost++
		}
	}
	watch.Wait()
	if lost != 4 || quick.Load() != gangSize-4 {
		t.Errorf("lost: %d, quick: %d", lost, quick.Load())
	}
}

// No connection is to be had: nothing was sent.
func TestCombinerUnsent(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	proxy := faultproxy.Start(t, s.Addr())
	g := newGang(t, proxy)
	proxy.Refuse(true)
	for i, err := range g.acquireAll(t) {
		if err == nil || lua.Unknown(err) {
			t.Errorf("goroutine %d: %v", i, err)
		}
	}
}

const gangSize = 24

// gang is many goroutines with one Combiner, and counts its pipelines.
type gang struct {
	c         *redisio.Combiner
	pipelines atomic.Int64
	longest   atomic.Int64
}

func newGang(t *testing.T, proxy *faultproxy.Proxy) *gang {
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), DialerRetries: 1, ReadTimeout: 2 * time.Second})
	t.Cleanup(func() { rdb.Close() })
	g := &gang{c: redisio.NewCombiner(rdb)}
	rdb.AddHook(g)
	return g
}

func (g *gang) keys(i int) *lua.Keys {
	k := lua.KeysOf("gang:"+strconv.Itoa(i), "a")
	return &k
}

func (g *gang) acquire(ctx context.Context, i int) error {
	granted, err := lua.Acquire{Owner: "a:1", Lease: time.Minute, Order: lua.Order{Number: 1}, Client: "a"}.Run(ctx, g.c, g.keys(i))
	if err == nil && granted.Verdict != lua.Done {
		err = errors.New("not granted")
	}
	return err
}

// first has Redis know the script.
func (g *gang) first(t *testing.T) {
	t.Helper()
	if err := g.acquire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func (g *gang) acquireAll(t *testing.T) []error {
	return g.all(func(i int) error { return g.acquire(t.Context(), i) })
}

func (g *gang) all(do func(i int) error) []error {
	errs := make([]error, gangSize)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errs
}

func (g *gang) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (g *gang) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (g *gang) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.pipelines.Add(1)
		for {
			longest := g.longest.Load()
			if int64(len(cmds)) <= longest || g.longest.CompareAndSwap(longest, int64(len(cmds))) {
				return next(ctx, cmds)
			}
		}
	}
}

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
)

// detourWithin is how long a detour waits for a reply.
const detourWithin = time.Second

// within sends a command by a detour, and reports how long it took. Its ctx ends after a minute.
func within(t *testing.T, d *Detours) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	cmd := about(ctx, "k")
	err := d.Process(ctx, cmd)
	if got := cmd.Err(); !errors.Is(got, err) {
		t.Errorf("the command's error is %v, and not %v", got, err)
	}
	return time.Since(began), err
}

// nothingLeft checks that no client and no place of the Detours is in use.
func nothingLeft(t *testing.T, d *Detours) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ways) != 0 || len(d.room) != 0 {
		t.Errorf("%d clients and %d places are in use", len(d.ways), len(d.room))
	}
}

// A command gets past a pool whose connections are all taken, and past one whose connections are dead. Its
// connection is new, and is closed after it.
func TestDetourPastThePool(t *testing.T) {
	for what, stick := range map[string]func(t *testing.T, p *program){
		"taken": func(t *testing.T, p *program) {
			taken := p.rdb.Conn()
			t.Cleanup(func() { taken.Close() })
			if err := taken.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"dead": func(t *testing.T, p *program) {
			p.connect(t, 1)
			p.kill(1)
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProgram(t, func(o *redis.Options) { o.PoolSize = 1 })
				before := p.redis.CurrentConnectionCount()
				stick(t, p)
				d := NewDetours(p.node, detourWithin, true)
				for n := range 3 {
					if took, err := within(t, d); err != nil || took != 0 {
						t.Fatalf("%v after %v", err, took)
					}
					if dials := p.dials.Load(); dials != int32(n)+2 { // one of the pool's
						t.Errorf("%d dials after %d commands", dials, n+1)
					}
				}
				nothingLeft(t, d)
				synctest.Wait()
				if n := p.redis.CurrentConnectionCount() - before; n != 1 {
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

// passport is a hook of the program's that counts what comes by.
type passport struct {
	dials, commands int
	process         func()
}

func (h *passport) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		h.dials++
		return next(ctx, network, addr)
	}
}

func (h *passport) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.commands++
		if h.process != nil {
			h.process()
		}
		return next(ctx, cmd)
	}
}

func (h *passport) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Commands go through the program's hooks, except for those of dialing.
func TestDetourRunsHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProgram(t)
		hook := &passport{}
		p.rdb.AddHook(hook)
		d := NewDetours(p.node, detourWithin, true)
		if _, err := within(t, d); err != nil {
			t.Fatal(err)
		}
		if hook.commands != 1 || hook.dials != 0 || p.dials.Load() != 1 {
			t.Errorf("hooks: %d commands, %d dials, of %d", hook.commands, hook.dials, p.dials.Load())
		}
	})
}

// A hook that does not return keeps neither the client nor the place.
func TestDetourHookDoesNotReturn(t *testing.T) {
	for what, end := range map[string]func(){"panic": func() { panic("in a hook") }, "Goexit": runtime.Goexit} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProgram(t)
				hook := &passport{process: end}
				p.rdb.AddHook(hook)
				d := NewDetours(p.node, detourWithin, true)
				var caller sync.WaitGroup
				for range maxDetours + 1 {
					caller.Go(func() {
						defer func() { _ = recover() }() // the panic is the caller's
						_, _ = within(t, d)
						t.Error("the hook returned")
					})
					caller.Wait()
				}
				nothingLeft(t, d)
				hook.process = nil
				if _, err := within(t, d); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An unanswered command ends after the Detours' time, or with ctx if that is sooner, and is not sent again.
// Where connections must have no deadlines it ends with ctx alone.
func TestDetourWithoutAnswer(t *testing.T) {
	for _, c := range []struct {
		what      string
		deadlines bool
		limit     time.Duration // of ctx
		want      time.Duration
	}{
		{"its own time", true, time.Minute, detourWithin},
		{"ctx ends sooner", true, detourWithin / 2, detourWithin / 2},
		{"no deadlines", false, 2 * detourWithin, 2 * detourWithin},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProgram(t)
				p.deaf.Store(true)
				d := NewDetours(p.node, detourWithin, c.deadlines)
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				began := time.Now()
				err := d.Process(ctx, about(ctx, "k"))
				if took := time.Since(began); err == nil || took != c.want {
					t.Errorf("%v after %v", err, took)
				}
				if dials := p.dials.Load(); dials != 1 {
					t.Errorf("%d dials", dials)
				}
				nothingLeft(t, d)
			})
		})
	}
}

// Only so many commands are under way at a time, by one client. One more waits for a place, and ends with ctx.
func TestDetourPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProgram(t, func(o *redis.Options) { o.PoolSize = 1 }) // the places are not those of the pool
		p.deaf.Store(true)
		d := NewDetours(p.node, detourWithin, true)
		var all sync.WaitGroup
		for range maxDetours {
			all.Go(func() { _, _ = within(t, d) })
		}
		synctest.Wait()
		if len(d.ways) != 1 || p.dials.Load() != maxDetours {
			t.Errorf("%d clients, %d dials", len(d.ways), p.dials.Load())
		}

		ctx, cancel := context.WithTimeout(t.Context(), detourWithin/2)
		defer cancel()
		cmd := about(ctx, "k")
		if err := d.Process(ctx, cmd); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(cmd.Err(), err) {
			t.Errorf("%v; the command's error is %v", err, cmd.Err())
		}
		if p.dials.Load() != maxDetours {
			t.Error("dialed without a place")
		}

		p.deaf.Store(false)
		if took, err := within(t, d); err != nil || took != detourWithin/2 { // when the others have ended
			t.Errorf("with a place again: %v after %v", err, took)
		}
		all.Wait()
		nothingLeft(t, d)
	})
}

// Where no node is found the command has that error.
func TestDetourWithoutANode(t *testing.T) {
	lost := errors.New("no node")
	d := NewDetours(func(context.Context, string) (Node, error) { return nil, lost }, detourWithin, true)
	if _, err := within(t, d); !errors.Is(err, lost) {
		t.Error(err)
	}
	nothingLeft(t, d)
}

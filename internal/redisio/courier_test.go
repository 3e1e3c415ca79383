package redisio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// errSilence is an answer that did not come.
var errSilence = errors.New("silence")

func isSilence(err error) bool { return errors.Is(err, errSilence) }

// ways records by which way a command goes, and fails it there.
type ways struct {
	mu   sync.Mutex
	took []string         // guarded by mu
	errs map[string]error // by the key; guarded by mu
}

// by is one of the ways.
type by struct {
	*ways
	name string
}

func (b by) Process(_ context.Context, cmd redis.Cmder) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took = append(b.took, b.name)
	return b.errs[keyOf(cmd)]
}

// courier makes a Courier with both ways.
func (w *ways) courier(nodes NodeOf) *Courier {
	w.errs = make(map[string]error)
	return NewCourier(nodes, by{w, "single"}, by{w, "many"}, isSilence)
}

// next sends a command about key, to which the answer is err, and returns the way it went.
func (w *ways) next(t *testing.T, p Processor, key string, err error) string {
	t.Helper()
	w.errs[key] = err
	if got := p.Process(t.Context(), about(t.Context(), key)); !errors.Is(got, err) {
		t.Errorf("%v became %v", err, got)
	}
	return w.took[len(w.took)-1]
}

// While commands are answered, be it with an error, the Courier asks no connection anything. A command goes
// with others unless it is not to wait for them.
func TestCourierAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProgram(t)
		p.connect(t, 3)
		var w ways
		c := w.courier(p.node)
		for _, err := range []error{nil, redis.Nil, refusal("OOM"), nil} {
			if way := w.next(t, c, "k", err); way != "many" {
				t.Errorf("went by %s", way)
			}
			if way := w.next(t, c.Alone(), "k", err); way != "single" {
				t.Errorf("alone: went by %s", way)
			}
		}
		if n := p.count("ping"); n != 0 {
			t.Errorf("PING: %d", n)
		}
	})
}

// After a command about a key that was not answered, the next about the same key asks each idle connection,
// and goes by itself. It does so until one is answered. Commands about other keys do neither.
func TestCourierAsksAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProgram(t)
		p.connect(t, 3)
		var w ways
		c := w.courier(p.node)
		for _, step := range []struct {
			key   string
			err   error
			way   string
			asked int
		}{
			{"k", errSilence, "many", 0},
			{"other", nil, "many", 0},
			{"k", errSilence, "single", 3},
			{"k", refusal("OOM"), "single", 3}, // an answer
			{"k", nil, "many", 0},
		} {
			before := p.count("ping")
			if way := w.next(t, c, step.key, step.err); way != step.way {
				t.Errorf("%+v: went by %s", step, way)
			}
			if n := p.count("ping") - before; n != step.asked {
				t.Errorf("%+v: PING: %d", step, n)
			}
		}
	})
}

// Dead idle connections have left the pool before a command is repeated: it waits for their answers once,
// a second, and not for a ReadTimeout at each. Those that live stay.
func TestCourierFindsDeadConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, alive = 4, 2
		p := startProgram(t)
		p.connect(t, dead+alive)
		p.kill(dead)
		c := NewCourier(p.node, p.rdb, p.rdb, isTimeout)
		for try, want := range []time.Duration{poolWithin, sweepWithin, 0} {
			began := time.Now()
			err := c.Process(t.Context(), about(t.Context(), "k"))
			if took := time.Since(began); took != want || (err != nil) != (try == 0) {
				t.Fatalf("try %d: %v after %v", try, err, took)
			}
		}
		if stats := p.rdb.PoolStats(); stats.TotalConns != alive || p.dials.Load() != dead+alive {
			t.Errorf("%+v, %d dials", stats, p.dials.Load())
		}
	})
}

// Commands that are repeated at the same time have the connections asked once.
func TestCourierAsksOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, callers = 3, 20
		p := startProgram(t)
		p.connect(t, conns)
		var w ways
		c := w.courier(p.node)
		for i := range callers {
			w.next(t, c, fmt.Sprint(i), errSilence)
		}
		p.kill(1) // its silence keeps all of them for as long as one may ask
		began := time.Now()
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() { _ = c.Process(t.Context(), about(t.Context(), fmt.Sprint(i))) })
		}
		all.Wait()
		if took := time.Since(began); took != sweepWithin {
			t.Errorf("took %v", took)
		}
		if n := p.count("ping"); n != conns-1 {
			t.Errorf("PING: %d", n)
		}
		if len(c.sweeps) != 0 {
			t.Errorf("%d sweeps go on", len(c.sweeps))
		}
	})
}

// A ctx that has ended does not end the question: what is found out is of use to others.
func TestCourierAsksWithoutCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProgram(t)
		p.connect(t, 2)
		p.kill(1)
		var w ways
		c := w.courier(p.node)
		w.next(t, c, "k", errSilence)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = c.Process(ctx, about(ctx, "k"))
		if total := p.rdb.PoolStats().TotalConns; total != 1 {
			t.Errorf("%d connections are left", total)
		}
	})
}

// Where connections cannot be asked, or no node is found, a command is sent all the same.
func TestCourierCannotAsk(t *testing.T) {
	nowhere := func(context.Context, string) (Node, error) { return nil, errors.New("no node") }
	for what, nodes := range map[string]NodeOf{"no nodes": nil, "node not found": nowhere} {
		t.Run(what, func(t *testing.T) {
			var w ways
			c := w.courier(nodes)
			w.next(t, c, "k", errSilence)
			if way := w.next(t, c, "k", nil); way != "single" {
				t.Errorf("went by %s", way)
			}
			if way := w.next(t, c, "k", nil); way != "many" {
				t.Errorf("after an answer: went by %s", way)
			}
		})
	}
}

// However many keys are silent, the Courier remembers a bounded number, and forgets those that are answered.
func TestCourierForgets(t *testing.T) {
	var w ways
	c := w.courier(nil)
	for i := range maxSilent + 10 {
		w.next(t, c, fmt.Sprint(i), errSilence)
	}
	if len(c.keys) != maxSilent {
		t.Errorf("remembers %d keys", len(c.keys))
	}
	for i := range maxSilent + 10 {
		w.next(t, c, fmt.Sprint(i), nil)
	}
	if len(c.keys) != 0 || c.count.Load() != 0 {
		t.Errorf("remembers %d keys, counts %d", len(c.keys), c.count.Load())
	}
}

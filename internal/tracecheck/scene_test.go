package tracecheck_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/tracecheck"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// lease is that of chaos, which the model's configuration has as the claim.
const lease = 600 * time.Millisecond

const name = "order"

// scene is a lock on a server, and who uses it.
type scene struct {
	t        *testing.T
	server   *redistest.Server
	recorder *tracecheck.Recorder
	hooks    []redis.Hook
}

func newScene(t *testing.T, hooks ...redis.Hook) *scene {
	s := &scene{t: t, server: redistest.Start(t), hooks: hooks}
	s.recorder = tracecheck.Record(t, s.server.Addr())
	return s
}

// client is one process behind a proxy.
type client struct {
	s     *scene
	lock  *reentrant.Lock
	proxy *faultproxy.Proxy
}

func (s *scene) client() *client {
	c := &client{s: s, proxy: faultproxy.Start(s.t, s.server.Addr())}
	rdb := s.server.Client(s.t, func(o *redis.Options) { o.Addr, o.ReadTimeout = c.proxy.Addr(), 100*time.Millisecond })
	for _, hook := range s.hooks {
		rdb.AddHook(hook)
	}
	of, err := reentrant.New(rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = of.Close(ctx) // a mistake in a script may have left a lock that it cannot free
	})
	c.lock = of.NewLock(name)
	return c
}

func (c *client) ctx(owner string) context.Context {
	return reentrant.WithOwner(c.s.t.Context(), owner)
}

// take acquires the lock, which is free or soon will be.
func (c *client) take(owner string) *reentrant.Hold {
	c.s.t.Helper()
	hold, err := c.lock.Acquire(c.ctx(owner), reentrant.WithWait(10*time.Second))
	if err != nil {
		c.s.t.Fatal(err)
	}
	return hold
}

// await lets a call wait until Redis has the client's registration with a nonce. The function that it returns ends
// the wait, and waits for the hold, which is nil if the call has left.
func (c *client) await(owner string) (leave func(), hold func() *reentrant.Hold) {
	c.s.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx(owner))
	c.s.t.Cleanup(cancel)
	got := make(chan *reentrant.Hold, 1)
	go func() {
		hold, _ := c.lock.Acquire(ctx) // an error is the end of ctx
		got <- hold
	}()
	c.s.registered(1)
	return cancel, func() *reentrant.Hold { return <-got }
}

// registered waits until that many clients are registered.
func (s *scene) registered(n int64) {
	s.t.Helper()
	redistest.Eventually(s.t, 10*time.Second, "registrations", func() bool {
		found, err := s.server.Admin().HLen(s.t.Context(), "redlatch_epoch:{"+name+"}:grants").Result()
		return err == nil && found == n
	})
}

func (s *scene) release(hold *reentrant.Hold) {
	s.t.Helper()
	if err := hold.Release(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// keepBack has the server execute the client's next such script when the function that it returns is called. A script
// with a mistake is sent as text.
func (c *client) keepBack(script string) (run func()) {
	request := "EVALSHA"
	if len(c.s.hooks) > 0 {
		request = "EVAL"
	}
	rule := c.proxy.Add(faultproxy.Rule{Times: 1, Action: faultproxy.HoldRequest,
		Match: func(args []string) bool { return faultproxy.Named(request)(args) && locktest.ScriptOf(args) == script }})
	return func() { rule.Release() }
}

// trace ends the scene. Its last script is one that only reads, since the recorder drops the last.
func (s *scene) trace(title string) *tracecheck.Trace {
	s.t.Helper()
	s.server.Do(s.t, "EVAL", "return redis.call('EXISTS', 'the-end')", 0)
	s.server.Do(s.t, "EVAL", "return redis.call('EXISTS', 'the-end')", 0)
	var trace *tracecheck.Trace
	redistest.Eventually(s.t, 10*time.Second, "end of the recording", func() bool { return s.recorder.Seen("the-end") })
	runs, err := s.recorder.Stop()
	if err != nil {
		s.t.Fatal(err)
	}
	trace = tracecheck.Convert(title, name, runs, 1000)
	if trace.Cut != nil {
		s.t.Fatal(trace.Cut)
	}
	return trace
}

// passedOn is a lock that goes to another process by a grant, after a call there has waited for it and left.
func passedOn(t *testing.T, hooks ...redis.Hook) *tracecheck.Trace {
	s := newScene(t, hooks...)
	a, b := s.client(), s.client()
	first := a.take("x")
	leave, left := b.await("y")
	leave()
	left()
	s.registered(0)
	_, granted := b.await("y")
	s.release(first)
	if hold := granted(); hold != nil {
		s.release(hold)
	}
	s.release(a.take("x"))
	return s.trace("passed on")
}

// contended is a lock that another process asks for in vain.
func contended(t *testing.T, hooks ...redis.Hook) *tracecheck.Trace {
	s := newScene(t, hooks...)
	a, b := s.client(), s.client()
	hold := a.take("x")
	if other, err := b.lock.Acquire(b.ctx("y"), reentrant.WithWait(0)); err == nil {
		s.release(other) // with a mistake in the script
	}
	_ = hold.Release(s.t.Context()) // then it was lost
	return s.trace("contended")
}

// lateAcquire is an acquire that is given up, and runs when the next one has set the epoch.
func lateAcquire(t *testing.T, hooks ...redis.Hook) *tracecheck.Trace {
	s := newScene(t, hooks...)
	c := s.client()
	s.release(c.take("x"))
	run := c.keepBack("acquire")
	hold := c.take("x")
	run()
	s.release(hold)
	return s.trace("late acquire")
}

// lateRelease is a release that is given up, and runs when its owner has the lock again.
func lateRelease(t *testing.T, hooks ...redis.Hook) *tracecheck.Trace {
	s := newScene(t, hooks...)
	c := s.client()
	s.release(c.take("x"))
	hold := c.take("x")
	run := c.keepBack("release")
	s.release(hold)
	again := c.take("x")
	run()
	_ = again.Release(s.t.Context()) // with a mistake in the script it was lost
	return s.trace("late release")
}

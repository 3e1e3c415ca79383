package reentrant_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// trap is a go-redis hook of the user's that once, when it is set, does not return.
type trap struct {
	mu     sync.Mutex
	before func() // instead of the command
	after  func() // when the command was answered
}

func (p *trap) set(before, after func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = before, after
}

func (p *trap) spring(f *func()) {
	p.mu.Lock()
	run := *f
	*f = nil
	p.mu.Unlock()
	if run != nil {
		run()
	}
}

func (p *trap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (p *trap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name != "evalsha" && name != "eval" {
			return next(ctx, cmd)
		}
		p.spring(&p.before)
		err := next(ctx, cmd)
		p.spring(&p.after)
		return err
	}
}

func (p *trap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// survive runs f as the program's own goroutine does that recovers from a panic, or ends in f.
func survive(f func()) {
	elsewhere(func() {
		defer func() { _ = recover() }()
		f()
	})
}

// A hook of go-redis panics, or ends the goroutine, in a call with a ctx that never ends, and the caller goes on:
// those who wait get the lock, whatever the call was about, and nothing is left in the end.
func TestFault42PanicInAHook(t *testing.T) {
	for end, f := range map[string]func(){"panic": func() { panic("in a hook") }, "Goexit": runtime.Goexit} {
		for _, sent := range []bool{false, true} {
			for call, run := range map[string]func(l *reentrant.Lock, ctx context.Context, wait, armed func()){
				"Lock":         func(l *reentrant.Lock, ctx context.Context, wait, armed func()) { armed(); _ = l.Lock(ctx) },
				"TryLock once": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) { armed(); _, _ = l.TryLock(ctx, 0, 0) },
				"Unlock": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					_ = l.Lock(ctx)
					armed()
					_ = l.Unlock(ctx)
				},
				"Unlock for a waiter": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					_ = l.Lock(ctx)
					wait()
					armed()
					_ = l.Unlock(ctx)
				},
				"nested Lock": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					_ = l.Lock(ctx)
					defer l.Unlock(ctx)
					armed()
					_ = l.Lock(ctx)
				},
				"inner Unlock": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					_ = l.Lock(ctx)
					defer l.Unlock(ctx)
					_ = l.Lock(ctx)
					armed()
					_ = l.Unlock(ctx)
				},
				"IsLocked": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					armed()
					_, _ = l.IsLocked(ctx)
				},
				"ForceUnlock": func(l *reentrant.Lock, ctx context.Context, wait, armed func()) {
					armed()
					_, _ = l.ForceUnlock(ctx)
				},
			} {
				for _, mode := range []reentrant.Handoff{reentrant.Confirmed, reentrant.Remote, reentrant.WriteBehind} {
					for _, limited := range []bool{false, true} {
						if end == "panic" && (limited || call == "TryLock once") {
							continue // on a goroutine of the library: the program ends
						}
						if mode == reentrant.WriteBehind && call == "Unlock for a waiter" {
							continue // it sends nothing
						}
						name := end + " in " + call
						inVirtualTime(t, func(t *testing.T, v *virtual) {
							hook := &trap{}
							rdb := redistest.MiniClient(t, v.mini)
							rdb.AddHook(hook)
							j := &journal{}
							c := newClient(t, rdb, reentrant.WithLease(lease), reentrant.WithHandoff(mode), j.all())
							l := c.NewLock("job")
							must(t, l.Do(v.ctx, func(context.Context) error { return nil })) // the scripts are known from now on
							ctx := owner(context.Background(), "caller")
							if limited {
								var cancel context.CancelFunc
								ctx, cancel = context.WithTimeout(ctx, time.Hour)
								defer cancel()
							}
							var got atomic.Int32
							var waiters []*pending
							wait := func() {
								waiters = append(waiters, begin(func() error {
									ctx := context.Background()
									if err := locktest.Tried(l.TryLock(ctx, 10*lease, 0)); err != nil {
										return err
									}
									got.Add(1)
									return l.Unlock(ctx)
								}))
								v.pass(0)
							}
							survive(func() {
								run(l, ctx, wait, func() {
									queued := func() { wait(); wait(); f() }
									if sent {
										hook.set(nil, queued)
									} else {
										hook.set(queued, nil)
									}
								})
							})
							v.pass(12 * lease)
							if s := c.Stats(); len(waiters) < 2 || int(got.Load()) != len(waiters) || s.Held != 0 || s.Waiting != 0 || v.mini.Exists("job") {
								t.Errorf("%s, sent %v, mode %v: %d of %d waiters got the lock, %+v, %v", name, sent, mode, got.Load(), len(waiters), s, v.fields("job"))
							}
							j.settled(t, 0)
							must(t, c.Close(v.ctx))
						})
					}
				}
			}
		}
	}
}

// The same of event functions, which run on the caller's goroutine too.
func TestFault42PanicInAnEvent(t *testing.T) {
	for end, f := range map[string]func(){"panic": func() { panic("in an event") }, "Goexit": runtime.Goexit} {
		for _, kind := range []string{"waiting", "acquired", "re-entered", "handed over", "released"} {
			for _, mode := range []reentrant.Handoff{reentrant.Confirmed, reentrant.WriteBehind} {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					j := &journal{}
					var once sync.Once
					spring := func(of string) func(reentrant.Event) {
						note := j.note(of)
						return func(e reentrant.Event) {
							note(e)
							if of == kind {
								once.Do(f)
							}
						}
					}
					c := v.client(reentrant.WithHandoff(mode), reentrant.WithEvents(reentrant.Events{
						Waiting: spring("waiting"), Acquired: spring("acquired"), Reentered: spring("re-entered"), HandedOver: spring("handed over"),
						Released: spring("released"), Unconfirmed: spring("unconfirmed"), Lost: spring("lost"),
					}))
					l := c.NewLock("job")
					work := func() {
						ctx := context.Background()
						if l.Lock(ctx) != nil {
							return
						}
						defer l.Unlock(ctx)
						if l.Lock(ctx) != nil {
							return
						}
						time.Sleep(lease / 10)
						_ = l.Unlock(ctx)
					}
					var all sync.WaitGroup
					for range 4 {
						all.Go(func() { survive(work) })
					}
					done := make(chan struct{})
					go func() { all.Wait(); close(done) }()
					v.pass(20 * lease)
					if s := c.Stats(); !ended(done) || s.Held != 0 || s.Waiting != 0 || v.mini.Exists("job") {
						t.Fatalf("%s in %s, mode %v: done %v, %+v, %v", end, kind, mode, ended(done), s, v.fields("job"))
					}
					j.settled(t, 0)
					survive(work)
					must(t, c.Close(v.ctx))
				})
			}
		}
	}
}

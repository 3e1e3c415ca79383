package reentrant_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// scene is where a scenario is played: a miniredis in virtual time, Clients and their owners.
// The scenario runs on one goroutine; each owner has one of its own.
type scene struct {
	*virtual
	*recording
	words   words
	server  traceServer
	conns   map[string]*listening
	clients map[string]*reentrant.Client
	actors  []*actor
}

// traceLease is that of a scene's Clients.
const traceLease = 30 * time.Second

// record plays a scenario and returns its trace.
func record(t *testing.T, play func(s *scene)) (trace string) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		s := &scene{virtual: v, recording: &recording{began: time.Now()}, conns: make(map[string]*listening), clients: make(map[string]*reentrant.Client)}
		s.words.names = make(map[string]string)
		s.server.s = s
		s.server.load(t)
		t.Cleanup(func() { // when the Clients are closed, so that no call is under way
			for _, a := range s.actors {
				close(a.todo)
			}
		})
		play(s)
		synctest.Wait()
		s.left()
		trace = s.recording.String()
	})
	return trace
}

// client makes a Client with a name of one letter.
func (s *scene) client(name string, opts ...reentrant.Option) *reentrant.Client {
	subs := &listening{ended: func() { s.note(name, "closes the connection of its subscription") }}
	s.conns[name] = subs
	rdb := redistest.MiniClient(s.t, s.mini, func(o *redis.Options) {
		o.ClientName = name
		o.Dialer = subs.dialer(o.Dialer)
	})
	opts = append([]reentrant.Option{reentrant.WithLease(traceLease), reentrant.WithEvents(s.events(name))}, opts...)
	c := newClient(s.t, rdb, opts...)
	s.t.Cleanup(s.server.heal) // before it is closed
	s.words.add(c.ID(), name)
	s.clients[name] = c
	return c
}

// pass lets time pass.
func (s *scene) pass(d time.Duration) {
	s.next()
	s.virtual.pass(d)
	s.next()
}

// sometime lets time pass in which things happen at times that have jitter.
func (s *scene) sometime(d time.Duration) {
	s.setLoose(true)
	s.virtual.pass(d)
	s.setLoose(false)
}

// tell writes what the scenario itself does.
func (s *scene) tell(who, format string, args ...any) {
	s.next()
	s.note(who, fmt.Sprintf(format, args...))
	s.next()
}

// actor is an owner: a goroutine that makes calls about the lock job of its Client, one after another.
type actor struct {
	s    *scene
	name string
	lock *reentrant.Lock
	ctx  context.Context
	hold *reentrant.Hold // of the last Acquire
	todo chan func()
}

// owner makes an owner of a Client; its name begins with the Client's.
func (s *scene) owner(name string, c *reentrant.Client, opts ...reentrant.LockOption) *actor {
	a := &actor{s: s, name: name, lock: c.NewLock("job", opts...), ctx: s.ctx, todo: make(chan func())}
	s.actors = append(s.actors, a)
	ids := make(chan string)
	go func() {
		ids <- goroutineID()
		for f := range a.todo {
			f()
		}
	}()
	s.words.add(c.ID()+":"+<-ids, name)
	return a
}

func goroutineID() string {
	b := make([]byte, 64)
	fields := bytes.Fields(b[:runtime.Stack(b, false)])
	return string(fields[1])
}

// underWay is a call that an owner has begun.
type underWay struct {
	s    *scene
	done chan struct{}
}

// wait waits for its end.
func (u *underWay) wait() {
	u.s.t.Helper()
	select {
	case <-u.done:
	case <-time.After(5 * time.Minute):
		u.s.t.Fatalf("the call does not return; so far\n%s", u.s.recording)
	}
	synctest.Wait()
	u.s.next()
}

// begin has the owner make a call. What f returns is its result.
func (a *actor) begin(what string, f func() []any) *underWay {
	u := &underWay{s: a.s, done: make(chan struct{})}
	a.s.next()
	a.todo <- func() {
		defer close(u.done)
		a.s.note(a.name, "calls "+what)
		results := f()
		a.s.note(a.name, what+" returns "+a.s.words.results(results))
	}
	synctest.Wait()
	return u
}

func results(r ...any) []any { return r }

func (a *actor) Lock() *underWay {
	return a.begin("Lock", func() []any { return results(a.lock.Lock(a.ctx)) })
}

func (a *actor) Unlock() *underWay {
	return a.begin("Unlock", func() []any { return results(a.lock.Unlock(a.ctx)) })
}

func (a *actor) LockLease(d time.Duration) *underWay {
	return a.begin("LockLease "+d.String(), func() []any { return results(a.lock.LockLease(a.ctx, d)) })
}

func (a *actor) TryLock(wait time.Duration) *underWay {
	return a.begin("TryLock "+wait.String(), func() []any { return results(a.lock.TryLock(a.ctx, wait, 0)) })
}

// Acquire keeps the hold.
func (a *actor) Acquire(opts ...reentrant.AcquireOption) *underWay {
	return a.begin("Acquire", func() []any {
		h, err := a.lock.Acquire(a.ctx, opts...)
		if err != nil {
			return results(err)
		}
		a.hold = h
		token := ""
		if h.Token() != 0 {
			token = ", token " + a.s.words.token(h.Token())
		}
		return results(fmt.Sprintf("a hold, valid until +%s%s", short(h.ValidUntil().Sub(a.s.began)), token))
	})
}

func (a *actor) Release() *underWay {
	h := a.hold
	return a.begin("Release", func() []any { return results(h.Release(a.ctx)) })
}

func (a *actor) ForceUnlock() *underWay {
	return a.begin("ForceUnlock", func() []any { return results(a.lock.ForceUnlock(a.ctx)) })
}

// closeClient is Client.Close, called by nobody in particular.
func (s *scene) closeClient(name string, c *reentrant.Client, within time.Duration) *underWay {
	u := &underWay{s: s, done: make(chan struct{})}
	s.next()
	go func() {
		defer close(u.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), within)
		defer cancel()
		s.note(name, "calls Close, within "+within.String())
		s.note(name, "Close returns "+s.words.results(results(c.Close(ctx))))
	}()
	synctest.Wait()
	return u
}

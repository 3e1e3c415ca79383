package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/reentrant"
)

// The model: what Redis has, and what each Client believes, after any sequence of

// calls. It is told nothing of how the library does it, only when renewals are due.

type lockModel struct {
	*rapid.T
	v       *virtual
	clients [2]*reentrant.Client
	owners  []*modelOwner

	// Redis.
	field   string // who has the lock; "" nobody
	count   int
	expires time.Time
	token   int64 // the last one

	// The Clients.
	live  [2]*modelTenure
	grips []*modelGrip
}

// modelOwner is somebody who locks: a goroutine, or a name.

type modelOwner struct {
	client int
	ctx    context.Context
	work   chan func() // of its goroutine; nil for a name, which may act anywhere
	field  string

	// The holds that it has lost and not unlocked yet.
	last    *modelTenure // those of the last loss: its holds
	earlier int          // of the losses before, for Unlock
	handles int          // and those that are handles
	debts   int          // how often there were none left
}

// owes says that the owner may still believe to have the lock.
func (o *modelOwner) owes() bool {
	return o.last != nil && (o.last.renewed() || len(o.last.holds) > 0 && time.Now().Before(o.last.valid))
}

func (o *modelOwner) lost() int {
	if o.last == nil {
		return o.earlier + o.handles
	}
	return len(o.last.holds) + o.earlier + o.handles
}

func (o *modelOwner) do(f func()) {
	if o.work == nil {
		f()
		return
	}
	done := make(chan struct{})
	o.work <- func() { defer close(done); f() }
	<-done
}

// modelTenure is one owner's time with the lock, nested holds included.

type modelTenure struct {
	client   int
	owner    *modelOwner
	holds    []modelKind
	ever     bool // one of its holds is or was renewed
	valid    time.Time
	token    int64
	ousted   time.Time // when Redis forgot it
	end      error     // nil while it lives
	debt     int       // of which of its owner's it is a part, once lost
	watched  <-chan struct{}
	observed *reentrant.Hold
}

func (x *modelTenure) renewed() bool {
	return slices.ContainsFunc(x.holds, func(k modelKind) bool { return !k.fixed })
}

// without takes the last hold of that kind away, the last that is no handle if kind is nil.
func (x *modelTenure) without(kind *modelKind) (found bool) {
	for i, k := range slices.Backward(x.holds) {
		if kind == nil && !k.handle || kind != nil && k == *kind {
			x.holds = slices.Delete(x.holds, i, i+1)
			return true
		}
	}
	return false
}

type modelKind struct{ fixed, handle bool }

// modelGrip is a handle.

type modelGrip struct {
	*reentrant.Hold
	of       *modelTenure
	kind     modelKind
	released bool
}

func TestTimeModel(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		// The deadline of the test is in real time and not to be asked for here.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			m := &lockModel{T: rt, v: v}
			v.mini.FlushAll()
			defer m.close()
			m.open(0)
			m.open(1)
			rt.Repeat(map[string]func(*rapid.T){
				"":            m.check,
				"lock":        m.lock,
				"lock again":  m.lock, // more often than it ends
				"unlock":      m.unlock,
				"release":     m.release,
				"force":       m.force,
				"delete":      m.delete,
				"pass":        m.pass,
				"pass more":   m.pass,
				"ask":         m.ask,
				"new process": m.restart,
			})
		})
	})
}

// open makes a Client and its owners.

func (m *lockModel) open(i int) {
	c, err := reentrant.New(m.v.rdb[i], reentrant.WithLease(lease))
	m.must(err)
	m.clients[i] = c
	for _, ctx := range []context.Context{reentrant.WithOwner(m.v.ctx, "a name"), reentrant.WithOwner(m.v.ctx, "7"), m.v.ctx} {
		o := &modelOwner{client: i, ctx: ctx}
		if ctx == m.v.ctx {
			o.work = make(chan func())
			go func() { // ends in close or restart
				for f := range o.work {
					f()
				}
			}()
		}
		o.do(func() { // which field it has
			h, err := c.NewLock("scratch").Acquire(o.ctx)
			m.must(err)
			o.field = h.Owner()
			m.must(h.Release(m.v.ctx))
		})
		m.owners = append(m.owners, o)
	}
}

// shut closes a Client as a process that ends does: at once, whatever it holds.

func (m *lockModel) shut(i int) error {
	var rest []*modelOwner
	for _, o := range m.owners {
		if o.client != i {
			rest = append(rest, o)
		} else if o.work != nil {
			close(o.work)
		}
	}
	m.owners = rest
	ctx, cancel := context.WithCancel(m.v.ctx)
	cancel()
	m.clients[i].Close(ctx)
	return m.clients[i].Close(m.v.ctx)
}

func (m *lockModel) close() {
	for i := range m.clients {
		if err := m.shut(i); err != nil {
			m.Error(err)
		}
	}
	synctest.Wait()
}

func (m *lockModel) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *lockModel) job(o *modelOwner) *reentrant.Lock {
	return m.clients[o.client].NewLock("job", reentrant.WithFencing())
}

func (m *lockModel) anyOwner(t *rapid.T) *modelOwner {
	return m.owners[rapid.IntRange(0, len(m.owners)-1).Draw(t, "owner")]
}

// is checks an error's kind.

func (m *lockModel) is(what string, got, want error) {
	m.Helper()
	if !errors.Is(got, want) {
		m.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// pop takes a hold away; err is what the library said.

// lose notes a loss that the library has, or must have, noticed.

// oust notes that Redis has forgotten the holder.

func (m *lockModel) String() string {
	return fmt.Sprintf("%q %d times, %v left", m.field, m.count, time.Until(m.expires))
}

// pass lets time pass, and the model with it.

// settle brings the model of a living tenure up to now. When exactly a renewal came

// is the library's affair; that it came in time is not.

func (m *lockModel) settle(x *modelTenure) {
	m.Helper()
	now := time.Now()
	lost := ended(x.watched)
	switch {
	case !x.renewed():
		if lost == now.Before(x.valid) && x.ousted.IsZero() {
			m.Fatalf("lost %v, %v before the end of a fixed lease", lost, time.Until(x.valid))
		}
	case x.ousted.IsZero():
		if lost {
			m.Fatal("lost while it is renewed")
		}
		x.valid = x.observed.ValidUntil()
		if left := x.valid.Sub(now); left < lease/2 {
			m.Fatalf("valid for %v, not renewed in time", left)
		}
		if left := m.v.ttl("job"); left < lease*2/3-time.Millisecond || left < x.valid.Sub(now) {
			m.Fatalf("%v left of a renewed lock, valid for %v", left, x.valid.Sub(now))
		} else {
			m.expires = now.Add(left)
		}
	case !lost && now.Sub(x.ousted) > lease/3:
		m.Fatalf("not noticed for %v that it is lost", now.Sub(x.ousted))
	}
	if lost {
		m.lose(x)
		if x.ever && x.ousted.IsZero() {
			// Renewals might have run unanswered, so the library frees what may be left.
			m.field, m.count = "", 0
		}
	}
}

// check is what must be true after every step.

func (m *lockModel) check(*rapid.T) {
	synctest.Wait()
	fields := m.v.fields("job")
	if m.field == "" && len(fields) != 0 || m.field != "" && (len(fields) != 1 || fields[m.field] != fmt.Sprint(m.count)) {
		m.Fatalf("Redis has %v, want %s", fields, m)
	}
	if m.field != "" && m.v.ttl("job") != time.Until(m.expires) {
		m.Fatalf("Redis keeps it for %v, want %s", m.v.ttl("job"), m)
	}
	for i, c := range m.clients {
		held := 0
		if m.live[i] != nil {
			held = 1
		}
		if s := c.Stats(); s.Held != held || s.Waiting != 0 || s.RenewFailures != 0 {
			m.Fatalf("client %d: %+v, want %d held", i, s, held)
		}
	}
	for _, g := range m.grips {
		alive := g.of.end == nil && !g.released
		if cause := context.Cause(g.Context()); alive != (cause == nil) {
			m.Fatalf("ctx of a hold ended because of %v; released %v, its tenure ended with %v", cause, g.released, g.of.end)
		}
		if lost := g.of.end != nil && !errors.Is(g.of.end, reentrant.ErrReleased); ended(g.Lost()) != lost {
			m.Fatalf("Lost is %v, want %v", ended(g.Lost()), lost)
		}
	}
}

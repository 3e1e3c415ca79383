package reentrant_test

import (
	"errors"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/reentrant"
)

func (m *lockModel) restart(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "client")
	if x := m.live[i]; x != nil {
		x.end, m.live[i] = reentrant.ErrClosed, nil
	}
	m.must(m.shut(i))
	m.open(i)
}

func (m *lockModel) lock(t *rapid.T) {
	o := m.anyOwner(t)
	x := m.live[o.client]
	// The first hold of a tenure is a handle, by which the model watches it.
	kind := modelKind{fixed: rapid.Bool().Draw(t, "fixed"), handle: x == nil || rapid.Bool().Draw(t, "handle")}
	d, h, err := m.take(t, o, kind)
	now := time.Now()
	switch {
	case x == nil && o.owes(), x != nil && x.owner != o && o.owes():
		if !isLost(err) {
			m.Fatalf("Acquire by an owner that has lost it: %v", err)
		}
		return
	case x != nil && x.owner != o, x == nil && m.field != "" && m.field != o.field:
		m.is("Acquire of a busy lock", err, reentrant.ErrNotAcquired)
		return
	case x != nil && m.field != o.field:
		m.is("re-entry of a lost lock", err, reentrant.ErrLost)
		m.lose(x)
		return
	case x != nil:
		m.is("re-entry", err, nil)
		m.count++
	default:
		m.is("Acquire of a free lock", err, nil)
		if h.Token() <= m.token && (m.field == "" || h.Token() < m.token) {
			m.Fatalf("token %d after %d", h.Token(), m.token)
		}
		x = &modelTenure{client: o.client, owner: o, token: h.Token(), watched: h.Lost(), observed: h}
		m.live[o.client], m.field, m.count, m.token, m.expires = x, o.field, 1, h.Token(), time.Time{}
	}
	x.holds = append(x.holds, kind)
	x.ever = x.ever || !kind.fixed
	x.valid = later(x.valid, now.Add(trusted(d)))
	m.expires = later(m.expires, now.Add(d))
	if !kind.handle {
		return
	}
	if h.Token() != x.token || h.Owner() != o.field {
		m.Fatalf("token %d of %s, want %d of %s", h.Token(), h.Owner(), x.token, o.field)
	}
	m.grips = append(m.grips, &modelGrip{Hold: h, of: x, kind: kind})
}

// take makes a single attempt, by Acquire if a handle is wanted and by TryLock otherwise.
func (m *lockModel) take(t *rapid.T, o *modelOwner, kind modelKind) (d time.Duration, h *reentrant.Hold, err error) {
	d, fixed := lease, time.Duration(0)
	opts := []reentrant.AcquireOption{reentrant.WithWait(0)}
	if kind.fixed {
		d = time.Duration(rapid.SampledFrom([]int{20, 100, 500, 3000}).Draw(t, "lease")) * time.Millisecond
		fixed, opts = d, append(opts, reentrant.WithFixedLease(d))
	}
	o.do(func() {
		if kind.handle {
			h, err = m.job(o).Acquire(o.ctx, opts...)
			return
		}
		ok := false
		if ok, err = m.job(o).TryLock(o.ctx, 0, fixed); !ok && err == nil {
			err = reentrant.ErrNotAcquired
		}
	})
	return d, h, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *lockModel) unlock(t *rapid.T) {
	o := m.anyOwner(t)
	var err error
	o.do(func() { err = m.job(o).Unlock(o.ctx) })
	x := m.live[o.client]
	switch {
	case x != nil && x.owner == o && x.without(nil):
		m.popped(x, err)
	case x != nil && x.owner == o:
		m.is("Unlock of holds that are handles", err, reentrant.ErrNotHeld)
	case o.lost() > 0:
		o.forget(nil, nil)
		m.is("Unlock of a lost lock", err, reentrant.ErrLost)
	default:
		m.is("Unlock of nothing", err, reentrant.ErrNotHeld)
	}
}

func (m *lockModel) release(t *rapid.T) {
	if len(m.grips) == 0 {
		t.Skip("no handle")
	}
	g := m.grips[rapid.IntRange(0, len(m.grips)-1).Draw(t, "handle")]
	err := g.Release(m.v.ctx) // from any goroutine
	x := g.of
	switch {
	case g.released:
		m.is("second Release", err, reentrant.ErrNotHeld)
	case x.end == nil:
		x.without(&g.kind)
		m.popped(x, err)
	case errors.Is(x.end, reentrant.ErrReleased):
		m.is("Release after Unlock", err, reentrant.ErrNotHeld)
	default:
		m.is("Release of a hold that has ended", err, x.end)
		if errors.Is(x.end, reentrant.ErrLost) && x.owner.lost() > 0 && x.debt == x.owner.debts {
			x.owner.forget(x, &g.kind)
		}
	}
	g.released = true
}

// popped checks the release of a hold that was taken away; err is what the library said.
func (m *lockModel) popped(x *modelTenure, err error) {
	m.Helper()
	last := len(x.holds) == 0
	switch {
	case m.field != x.owner.field:
		m.is("Unlock of a lost lock", err, reentrant.ErrLost)
		if last {
			x.end, m.live[x.client] = reentrant.ErrReleased, nil
		} else {
			m.lose(x)
		}
	case last:
		m.is("Unlock", err, nil)
		x.end, m.live[x.client] = reentrant.ErrReleased, nil
		m.field, m.count = "", 0
	default:
		m.is("inner Unlock", err, nil)
		m.count--
	}
}

func (m *lockModel) lose(x *modelTenure) {
	x.end, m.live[x.client] = reentrant.ErrLost, nil
	o := x.owner
	if o.last != nil {
		for _, kind := range o.last.holds {
			*o.number(kind.handle)++
		}
	}
	o.last, x.debt = x, o.debts
}

// forget takes one lost hold out of what the owner has yet to unlock: a handle's, or the last that is for
// Unlock. Which of several losses an Unlock meant nobody can say, so the earlier ones count as one sum
// until all are unlocked.
func (o *modelOwner) forget(of *modelTenure, kind *modelKind) {
	found := false
	if of == nil || of == o.last {
		found = o.last.without(kind)
	}
	if n := o.number(kind != nil); !found && *n > 0 {
		*n--
	}
	if o.lost() == 0 {
		o.last = nil
		o.debts++
	}
}

func (o *modelOwner) number(handle bool) *int {
	if handle {
		return &o.handles
	}
	return &o.earlier
}

func (m *lockModel) oust() {
	for _, x := range m.live {
		if x != nil && m.field == x.owner.field {
			x.ousted = time.Now()
		}
	}
	m.field, m.count = "", 0
}

func (m *lockModel) force(t *rapid.T) {
	o := m.anyOwner(t)
	freed, err := m.job(o).ForceUnlock(o.ctx)
	m.must(err)
	if freed != (m.field != "") {
		m.Fatalf("ForceUnlock = %v, the lock was held by %q", freed, m.field)
	}
	if !freed {
		return
	}
	m.oust()
	if x := m.live[o.client]; x != nil {
		m.lose(x) // the Client that forces knows at once
	}
}

func (m *lockModel) delete(*rapid.T) {
	m.v.mini.Del("job")
	m.oust()
}

func (m *lockModel) ask(t *rapid.T) {
	o := m.anyOwner(t)
	o.do(func() {
		l := m.job(o)
		locked, err1 := l.IsLocked(o.ctx)
		held, err2 := l.IsHeld(o.ctx)
		count, err3 := l.HoldCount(o.ctx)
		left, err4 := l.TTL(o.ctx)
		want := 0
		if m.field == o.field {
			want = m.count
		}
		if err := errors.Join(err1, err2, err3, err4); err != nil || locked != (m.field != "") ||
			held != (want > 0) || count != want || left != m.v.ttl("job").Truncate(time.Millisecond) {
			m.Fatalf("locked %v, held %v, count %d, TTL %v, %v; Redis has %s", locked, held, count, left, err, m)
		}
	})
}

func (m *lockModel) pass(t *rapid.T) {
	m.v.pass(time.Duration(rapid.SampledFrom([]int{1, 5, 10, 88, 200, 333, 400, 990, 1100, 3500}).Draw(t, "ms")) * time.Millisecond)
	for _, x := range m.live {
		if x != nil {
			m.settle(x)
		}
	}
	if m.field != "" && !time.Now().Before(m.expires) {
		m.field, m.count = "", 0
	}
}

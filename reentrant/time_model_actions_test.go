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
	d, fixed := lease, rapid.Bool().Draw(t, "fixed")
	opts := []reentrant.AcquireOption{reentrant.WithWait(0)}
	if fixed {
		d = time.Duration(rapid.SampledFrom([]int{20, 100, 500, 3000}).Draw(t, "lease")) * time.Millisecond
		opts = append(opts, reentrant.WithFixedLease(d))
	}
	var h *reentrant.Hold
	var err error
	o.do(func() { h, err = m.job(o).Acquire(o.ctx, opts...) })

	x := m.live[o.client]
	now := time.Now()
	switch {
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
	if h.Token() != x.token || h.Owner() != o.field {
		m.Fatalf("token %d of %s, want %d of %s", h.Token(), h.Owner(), x.token, o.field)
	}
	x.fixed = append(x.fixed, fixed)
	x.ever = x.ever || !fixed
	x.valid = later(x.valid, now.Add(trusted(d)))
	m.expires = later(m.expires, now.Add(d))
	m.grips = append(m.grips, &modelGrip{Hold: h, of: x, fixed: fixed})
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
	case x != nil && x.owner == o:
		m.pop(x, len(x.fixed)-1, err)
	case o.lost > 0:
		o.forget()
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
		i := len(x.fixed) - 1
		for i > 0 && x.fixed[i] != g.fixed {
			i--
		}
		m.pop(x, i, err)
	case errors.Is(x.end, reentrant.ErrReleased):
		m.is("Release after Unlock", err, reentrant.ErrNotHeld)
	default:
		m.is("Release of a hold that has ended", err, x.end)
		if errors.Is(x.end, reentrant.ErrLost) && x.owner.lost > 0 && x.debt == x.owner.debts {
			x.owner.forget()
		}
	}
	g.released = true
}

func (m *lockModel) pop(x *modelTenure, i int, err error) {
	m.Helper()
	x.fixed = append(x.fixed[:i:i], x.fixed[i+1:]...)
	last := len(x.fixed) == 0
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
	x.owner.lost += len(x.fixed)
	x.debt = x.owner.debts
}

// forget takes one lost hold out of what the owner has yet to unlock. Which of several
// losses Unlock meant nobody can say, so they count as one sum until all are unlocked.
func (o *modelOwner) forget() {
	if o.lost--; o.lost == 0 {
		o.debts++
	}
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

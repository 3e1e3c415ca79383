package grafana_test

import (
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// healthy uses locks in all usual ways: free ones, hand-offs, waits for another Client, one of them behind a long hold, and
// calls that find a lock busy.
func healthy(s *service, _ int, c, other *reentrant.Client) {
	s.t.Helper()
	l := c.NewLock("order:42")
	me, you := s.as("me"), s.as("you")
	must(s.t, l.Lock(me))
	must(s.t, l.Lock(me))
	must(s.t, l.Unlock(me))
	handed := begin(func() error { return l.Lock(you) })
	s.pass(time.Second)
	must(s.t, l.Unlock(me))
	must(s.t, handed())
	must(s.t, l.Unlock(you))

	hold, err := other.NewLock("order:42").Acquire(me)
	must(s.t, err)
	if ok, err := l.TryLock(me, 0, 0); ok || err != nil {
		s.t.Fatal(ok, err)
	}
	waited := begin(func() error { return l.Lock(me) })
	s.pass(time.Minute)
	must(s.t, hold.Release(s.ctx))
	must(s.t, waited())
	must(s.t, l.Unlock(me))
}

// losing has its locks taken away.
func losing(s *service, _ int, c, _ *reentrant.Client) {
	s.t.Helper()
	l := c.NewLock("order:42")
	must(s.t, l.Lock(s.as("me")))
	s.mini.FlushAll()
	s.pass(lease)
	_ = l.Unlock(s.as("me"))
}

// failing has a Redis that refuses renewals for a while, and holds its lock all the same.
func failing(s *service, _ int, c, _ *reentrant.Client) {
	s.t.Helper()
	l := c.NewLock("order:42")
	must(s.t, l.Lock(s.as("me")))
	s.mini.SetError("LOADING Redis is loading the dataset in memory")
	s.pass(lease / 2)
	s.mini.SetError("")
	s.pass(lease)
	must(s.t, l.Unlock(s.as("me")))
}

// deaf finds its locks free by itself: they are deleted, which nobody tells.
func deaf(s *service, _ int, c, other *reentrant.Client) {
	s.t.Helper()
	l := c.NewLock("order:42")
	must(s.t, other.NewLock("order:42").LockLease(s.as("other"), time.Hour))
	waited := begin(func() error { return l.Lock(s.as("me")) })
	s.pass(2 * time.Second)
	s.mini.Del("order:42")
	s.pass(15 * time.Second)
	must(s.t, waited())
	must(s.t, l.Unlock(s.as("me")))
	_ = other.NewLock("order:42").Unlock(s.as("other")) // it was lost
}

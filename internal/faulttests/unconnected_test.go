package faulttests

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis takes no more clients. Who has no connection is told so, soon and without a storm of
// attempts to connect; who has one goes on, also waiting, for which the subscription's
// connection is missing. When there is room again everything works.
func TestFault37MaxClients(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	me := owner(t.Context(), "me")
	connected := faultClient(t, r.through(t), reentrant.WithLease(4500*time.Millisecond))
	holder := faultClient(t, r.Client(t), reentrant.WithLease(4500*time.Millisecond))
	stranger := faultClient(t, r.through(t))
	must(t, connected.NewLock("mine").Lock(me))
	hold, err := holder.NewLock("l").Acquire(me)
	must(t, err)
	redistest.Eventually(t, 5*time.Second, "both were renewed", func() bool {
		return connected.Stats().Renewals > 0 && holder.Stats().Renewals > 0
	})
	r.Do(t, "CONFIG", "SET", "maxclients", "1")
	rejected := func() int {
		n, err := strconv.Atoi(r.Info(t, "stats", "rejected_connections"))
		must(t, err)
		return n
	}
	before, since := rejected(), time.Now()

	err = stranger.NewLock("other").Lock(me)
	wants(t, err, reentrant.ErrNotAcquired)
	if err == nil || !strings.Contains(err.Error(), "max number of clients") && !strings.Contains(err.Error(), "EOF") &&
		!strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("Lock without a connection: %v", err)
	}
	next := make(chan *reentrant.Hold, 1)
	go func() {
		hold, err := connected.NewLock("l").Acquire(me)
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		next <- hold
	}()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return connected.Stats().Waiting == 1 })
	renewals := holder.Stats().Renewals
	redistest.Eventually(t, 5*time.Second, "it is renewed", func() bool { return holder.Stats().Renewals > renewals })
	must(t, hold.Release(me))
	theirs := locktest.InTime(t, 10*time.Second, "the waiter has the lock", next)
	n := rejected() - before
	if limit := 20 + 50*time.Since(since).Seconds(); float64(n) > limit {
		t.Errorf("%d attempts to connect in %v", n, time.Since(since))
	}

	r.Do(t, "CONFIG", "SET", "maxclients", "1000")
	must(t, theirs.Release(me))
	must(t, connected.NewLock("mine").Unlock(me))
	must(t, stranger.NewLock("other").Lock(me))
	must(t, stranger.NewLock("other").Unlock(me))
	for _, c := range []*reentrant.Client{connected, holder, stranger} {
		if n := c.Stats().Losses; n > 0 {
			t.Errorf("%d losses", n)
		}
	}
	locktest.TidyWithin(t, r.Server, 10*time.Second, "l", "mine", "other")
}

// The password is wrong. Every call says so soon; a wait ends with it too, and nobody tries
// again and again.
func TestFault37WrongPassword(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	r.SetUser(t, "app", "on", ">right", "~*", "&*", "+@all")
	c := faultClient(t, r.through(t, func(o *redis.Options) { o.Username, o.Password = "app", "wrong" }))
	l, me, since := c.NewLock("l"), owner(t.Context(), "me"), time.Now()
	said := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
			t.Errorf("%s: %v", what, err)
		}
	}
	err := l.Lock(me)
	wants(t, err, reentrant.ErrNotAcquired)
	said("Lock", err)
	ok, err := l.TryLock(me, time.Minute, 0)
	if ok {
		t.Error("TryLock with a wrong password")
	}
	wants(t, err, reentrant.ErrNotAcquired)
	said("TryLock", err)
	_, err = l.IsLocked(me)
	said("IsLocked", err)
	if d := time.Since(since); d > 30*time.Second {
		t.Errorf("three calls took %v", d)
	}
	if n := r.proxy.Commands("HELLO") + r.proxy.Commands("AUTH"); n > 40 {
		t.Errorf("the password was sent %d times for three calls", n)
	}
	if st := c.Stats(); st.Held != 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
	locktest.CloseQuickly(t, c)
}

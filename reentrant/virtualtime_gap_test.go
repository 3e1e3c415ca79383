package reentrant_test

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// subscriptions are the connections that have subscribed, so that a test can cut them.
type subscriptions struct {
	mu   sync.Mutex
	list []net.Conn // guarded by mu
}

type subscribing struct {
	net.Conn
	to *subscriptions
}

func (c subscribing) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("\r\nsubscribe\r\n")) {
		c.to.mu.Lock()
		if !slices.Contains(c.to.list, c.Conn) {
			c.to.list = append(c.to.list, c.Conn)
		}
		c.to.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// cut closes them, those that are closed already too, and returns how many there were.
func (s *subscriptions) cut() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.list {
		conn.Close()
	}
	n, s.list = len(s.list), nil
	return n
}

// The subscription dies and the lock is released before there is another: the message reaches
// nobody. The waiter tries when it is subscribed again, and does not wait for its poll.
func TestFault12PublishReachesNobody(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var subscribed subscriptions
		rdb := v.wrapped(func(conn net.Conn) net.Conn { return subscribing{conn, &subscribed} })
		c := newClient(t, rdb, reentrant.WithLease(lease))
		holder, l := v.client(reentrant.WithLease(time.Hour)).NewLock("job"), c.NewLock("job")
		for range 20 {
			must(t, holder.Lock(v.ctx))
			waiter := begin(func() error { return l.Lock(owner(v.ctx, "me")) })
			v.pass(100 * time.Millisecond)
			before := c.Stats().WakeUps
			if subscribed.cut() == 0 {
				t.Fatal("nothing was subscribed")
			}
			synctest.Wait()
			if left := v.mini.PubSubChannels(""); len(left) > 0 {
				t.Fatalf("still subscribed: %v", left)
			}
			must(t, holder.Unlock(v.ctx))
			released := time.Now()
			must(t, waiter.wait())
			// The pause before a new connection, since the last one was short-lived; the poll
			// would be after 875 ms.
			if late := waiter.at.Sub(released); late > 165*time.Millisecond {
				t.Errorf("acquired %v after the release", late)
			}
			if now := c.Stats().WakeUps; now.Subscribed == before.Subscribed || now.Message != before.Message {
				t.Errorf("woken by %+v, before that by %+v", now, before)
			}
			must(t, l.Unlock(owner(v.ctx, "me")))
			v.pass(10 * time.Second)
		}
	})
}

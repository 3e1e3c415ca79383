package reentrant_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// crowd is the number of Clients that keep coming, with two owners each.
const crowd = 8

// A starving is a lock that a crowd keeps asking for while one patient owner asks for it too.
type starving struct {
	*virtual
	held time.Duration // for how long each call holds the lock
}

// onEveryHold runs f for holds that are shorter and longer than the poll, and than the lease.
func onEveryHold(t *testing.T, f func(t *testing.T, s starving)) {
	for _, held := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 3 * time.Second} {
		t.Run(held.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) { f(t, starving{v, held}) })
		})
	}
}

// crowds has two owners of each of the crowd's Clients hold the lock that side names, again and again and without a
// pause, until stop is called. Their first calls are spread over one hold, so that some owner always holds a lock that
// owners share.
func (s starving) crowds(side func(*reentrant.Client) *reentrant.Lock) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var group sync.WaitGroup
	for i := range crowd {
		l := side(s.client())
		for n := range 2 {
			group.Go(func() {
				me := owner(s.ctx, fmt.Sprint("crowd", i, n))
				time.Sleep(time.Duration(2*i+n) * s.held / (2 * crowd))
				for ctx.Err() == nil {
					must(s.t, l.Lock(me))
					time.Sleep(s.held)
					must(s.t, l.Unlock(me))
				}
			})
		}
	}
	s.pass(4 * s.held)
	return func() {
		cancel()
		group.Wait()
	}
}

// longest is the longest of n waits for l, each followed by a hold. The pauses between them differ, so that the
// calls begin at every step of the crowd's holds.
func (s starving) longest(l *reentrant.Lock, n int) (longest time.Duration) {
	me := owner(s.ctx, "patient")
	for i := range n {
		began := time.Now()
		must(s.t, l.Lock(me))
		longest = max(longest, time.Since(began))
		time.Sleep(s.held)
		must(s.t, l.Unlock(me))
		s.pass(s.held + time.Duration(i)*s.held/time.Duration(n))
	}
	return longest
}

func readSide(c *reentrant.Client) *reentrant.Lock  { return c.NewReadWriteLock("rw").Read() }
func writeSide(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("rw").Write() }
func fairSide(c *reentrant.Client) *reentrant.Lock  { return c.NewFairLock("l") }

// A write waits for the reads that have begun, and for reads that join a lease before its Client hears of the write: 10 ms
// later at the most, however many Clients keep reading.
func TestTimeWriteWaitsForReadsThatHaveBegun(t *testing.T) {
	t.Parallel()
	onEveryHold(t, func(t *testing.T, s starving) {
		stop := s.crowds(readSide)
		longest := s.longest(writeSide(s.client()), 20)
		stop()
		if bound := s.held + 10*time.Millisecond; longest > bound {
			t.Errorf("a write waited %v for reads of %v", longest, s.held)
		}
	})
}

// A read waits for the write that has begun, however many Clients keep writing.
func TestTimeReadWaitsForOneWrite(t *testing.T) {
	t.Parallel()
	onEveryHold(t, func(t *testing.T, s starving) {
		stop := s.crowds(writeSide)
		longest := s.longest(readSide(s.client()), 20)
		stop()
		if longest > s.held {
			t.Errorf("a read waited %v for writes of %v", longest, s.held)
		}
	})
}

// Among n callers of a fair lock that come back at once, a call waits for n-1 holds.
func TestTimeFairWaitsForOneHoldOfEach(t *testing.T) {
	t.Parallel()
	onEveryHold(t, func(t *testing.T, s starving) {
		stop := s.crowds(fairSide)
		longest := s.longest(fairSide(s.client()), 4)
		stop()
		if bound := 2 * crowd * s.held; longest > bound {
			t.Errorf("a call waited %v among %d of %v each", longest, 2*crowd, s.held)
		}
	})
}

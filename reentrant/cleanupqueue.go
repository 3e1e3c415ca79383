package reentrant

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// cleanups are what a Client has to do in the background for locks that its owners do not hold any more.
// All its locks may be lost at the same time, so a clean-up is an entry in a queue, and not a goroutine.
// At most cleaners goroutines carry out the entries, the earliest first. While none is due, one of them
// waits. They end when nothing is left.
//
// [Client.begin] has announced each clean-up to Close, and each is a user of its lock state, until it is
// done.
type cleanups struct {
	c      *Client
	sooner chan struct{} // capacity 1: a signal that another clean-up is the first now

	mu      sync.Mutex
	queue   cleanupQueue // guarded by mu
	workers int          // goroutines, at most cleaners; guarded by mu
	waiting bool         // one of them waits for the first clean-up; guarded by mu
}

// cleanup is tried again until it is done, its time is over, or the Client closes.
type cleanup struct {
	s     *lockState
	at    time.Time     // of the next try
	until time.Time     // no try begins then, and ctx ends
	pause time.Duration // after the next try
	spare bool          // a Client that closes may leave it undone

	try func(ctx context.Context) (done bool)
}

func newCleanups(c *Client) *cleanups { return &cleanups{c: c, sooner: make(chan struct{}, 1)} }

// add adds a clean-up to the queue. If the Client is closed, add drops it. The caller has lockState.mu or
// is a user of the lock state.
func (s *cleanups) add(x *cleanup) {
	if !s.c.begin() {
		return
	}
	x.s.addUser()
	x.pause = cleanUpPause
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(x)
	s.enlist()
}

// enlist starts a worker if no worker waits for the first clean-up. The caller has mu.
func (s *cleanups) enlist() {
	if len(s.queue) > 0 && !s.waiting && s.workers < cleaners {
		s.workers++
		s.c.workers.Go(s.work) // ends when nothing is left; Close waits for each clean-up
	}
}

// hurry makes the worker that waits look at the queue again.
func (s *cleanups) hurry() {
	select {
	case s.sooner <- struct{}{}:
	default: // a signal is there already
	}
}

func (s *cleanups) work() {
	for x := s.next(); x != nil; x = s.next() {
		s.carryOut(x)
	}
}

// carryOut tries a clean-up once, and keeps it for later if it is not done.
func (s *cleanups) carryOut(x *cleanup) {
	done, returned := true, false
	ctx, cancel := context.WithDeadline(s.c.ctx, x.until)
	defer func() {
		cancel()
		// A Client that closes waits for one try, and not until Redis is back.
		if done || s.c.isClosing() {
			x.s.dropUser()
			s.c.end()
		} else {
			s.again(x)
		}
		if !returned { // a hook of go-redis has ended the goroutine
			s.mu.Lock()
			s.workers--
			s.enlist()
			s.mu.Unlock()
		}
	}()
	done = ctx.Err() != nil || x.try(ctx) || ctx.Err() != nil
	returned = true
}

// again puts a clean-up back for its next try.
func (s *cleanups) again(x *cleanup) {
	x.spare = true
	x.at = time.Now().Add(x.pause/2 + backoff(0))
	x.pause = min(2*x.pause, cleanUpLast)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(x)
}

// push adds a clean-up to the queue. If it is the first one now, the worker that waits looks again. The
// caller has mu.
func (s *cleanups) push(x *cleanup) {
	heap.Push(&s.queue, x)
	if s.queue[0] == x {
		s.hurry()
	}
}

// next waits until the first clean-up is due, and takes it. It returns nil if nothing is left or another
// worker waits already; then it has counted the worker out.
func (s *cleanups) next() *cleanup {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 && !s.waiting {
		first := s.queue[0]
		wait := time.Until(first.at)
		if wait <= 0 || s.c.isClosing() {
			heap.Pop(&s.queue)
			s.enlist()
			if first.spare && s.c.isClosing() {
				first.try = func(context.Context) bool { return true }
			}
			return first
		}
		s.waiting = true
		s.mu.Unlock()
		s.await(wait)
		s.mu.Lock()
		s.waiting = false
	}
	s.workers--
	return nil
}

// await waits for d. It ends earlier if another clean-up becomes the first, or the Client closes.
func (s *cleanups) await(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.sooner:
	case <-s.c.closing:
	}
}

// cleanupQueue is a heap by the time of the next try.
type cleanupQueue []*cleanup

func (h cleanupQueue) Len() int           { return len(h) }
func (h cleanupQueue) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h cleanupQueue) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cleanupQueue) Push(x any)        { *h = append(*h, x.(*cleanup)) }

func (h *cleanupQueue) Pop() any {
	old := *h
	n := len(old) - 1
	x := old[n]
	old[n] = nil
	*h = old[:n]
	return x
}

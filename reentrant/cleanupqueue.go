package reentrant

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// cleanups is what a Client has to do in the background for locks that nobody of it holds any more.
// All its locks may be lost at the same time, so a clean-up is an entry in a queue, and not a
// goroutine: cleaners goroutines at most carry them out, the earliest first, one of which waits
// while none is due. They end when nothing is left.
//
// A clean-up is one that [Client.begin] has announced and a user of its lock, until it is done.
type cleanups struct {
	c      *Client
	sooner chan struct{} // holds one signal: the first clean-up is an earlier one now

	mu      sync.Mutex
	queue   cleanupQueue // guarded by mu
	workers int          // goroutines, at most cleaners; guarded by mu
	waiting bool         // one of them waits for the first clean-up; guarded by mu
}

// cleanup is tried again until it is done, its time is over, or the Client has no time for it any more.
type cleanup struct {
	s     *lockState
	at    time.Time     // of the next try
	until time.Time     // no try begins then, and ctx ends
	pause time.Duration // after the next try
	spare bool          // may be left undone by a Client that closes

	try func(ctx context.Context) (done bool)
}

func newCleanups(c *Client) *cleanups { return &cleanups{c: c, sooner: make(chan struct{}, 1)} }

// add takes on a clean-up. It is not done if the Client is closed. The caller has lockState.mu or is a
// user of the queue.
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

// enlist starts a worker if the first clean-up has none that waits for it. The caller has mu.
func (s *cleanups) enlist() {
	if len(s.queue) > 0 && !s.waiting && s.workers < cleaners {
		s.workers++
		s.c.workers.Go(s.work) // ends when nothing is left; Close waits for each clean-up
	}
}

// hurry has the worker that waits look again.
func (s *cleanups) hurry() {
	select {
	case s.sooner <- struct{}{}:
	default: // it will
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
		// A Client that closes waits for one try and not for Redis to come back.
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

func (s *cleanups) again(x *cleanup) {
	x.spare = true
	x.at = time.Now().Add(x.pause/2 + backoff(0))
	x.pause = min(2*x.pause, cleanUpLast)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(x)
}

// push adds a clean-up to the queue, and has a worker look at it. The caller has mu.
func (s *cleanups) push(x *cleanup) {
	heap.Push(&s.queue, x)
	if s.queue[0] == x {
		s.hurry()
	}
}

// next waits for the first clean-up that is to be tried and takes it. It returns nil, and the worker is
// counted out, if nothing is left or another worker waits already.
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

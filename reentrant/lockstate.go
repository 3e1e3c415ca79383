package reentrant

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// lockState is one lock as one Client sees it: which of its owners holds it, and who
// waits, first come first served. Only the head of the waiters talks to Redis, and
// only while none of the Client's owners holds the lock.
type lockState struct {
	c    *Client
	name string
	keys lua.Keys

	// users counts the calls, holds and clean-up that use the queue. It is raised from 0
	// with Client.mu only, and the queue is dropped at 0 (client.go).
	users atomic.Int64

	sequencer sequencer // who may send a command

	afterRedisson atomic.Bool // the last release heard of was Redisson's

	mu      sync.Mutex
	holder  *ownership           // live or being released; guarded by mu
	waiters waiters              // guarded by mu
	lostBy  map[string]*lostHold // guarded by mu
	since   int64                // our arrival in the registry of waiters, 0: not in it; guarded by mu
	wakeups *wakeups             // subscription of the waiters; guarded by mu
	budget  budget               // guarded by mu
	outage  outage               // whether Redis answers; guarded by mu
	busy    bool                 // the last attempt of those who wait: somebody else holds the lock; guarded by mu
	syncing bool                 // syncField is running; guarded by mu
}

func newLockState(c *Client, l *Lock) *lockState {
	return &lockState{c: c, name: l.name, keys: l.keys, sequencer: sequencer{taken: make(chan struct{}, 1)}}
}

// lock and unlock of lockState.mu are left to the callers of what follows.

// enqueue adds a waiter. With nobody of this Client ahead it leads at once.
func (s *lockState) enqueue(r *request) *waiter {
	w := s.c.newWaiter()
	w.request, w.answers = *r, s.outage.answers
	s.waiters.add(w)
	if s.holder != nil && s.c.cfg.handoff == Remote {
		// The lock will go out at the next release: be able to register with the
		// first attempt after it, or the others have it twice in a row.
		s.listen()
	}
	s.promote()
	return w
}

// remove takes a waiter out, in its final state.
func (s *lockState) remove(w *waiter, final waiterState) {
	w.state = final
	s.waiters.remove(w)
	if s.waiters.first == nil {
		s.busy = false
		s.stopListening()
	}
	w.notify()
}

// endWaits ends, with its error, the waits that have seen the same outage as that of the
// head: each of them would begin to bear it anew when its turn has come. Those who came after
// its beginning have borne it since they came; if the head had no answer before, and they have
// waited for as long as any call goes on then, they end too.
func (s *lockState) endWaits(head *waiter, from time.Time, answered bool, err error) {
	if !lua.Retryable(err) || errors.Is(err, ErrReplicas) || errors.Is(err, errTooLate) || errors.Is(err, errStale) {
		return // of this one attempt, and not of Redis
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.waiters.first; w != nil; {
		next := w.next
		if w != head && w.state == queued && (w.began.Before(from) || !answered && time.Since(w.began) > retryWithin) {
			w.refusal = err
			s.remove(w, refused)
		} else if w != head && w.state == queued {
			w.failing = w.began
		}
		w = next
	}
}

// silent reports whether it is not known any more who holds the lock, since Redis does not answer
// what it was asked or told: an attempt, or a release of this Client's.
func (s *lockState) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil && s.holder.state == live {
		return false // an owner of this Client does, and had the word of Redis for it
	}
	return s.outage.silent(time.Now())
}

// promote lets the first waiter lead if nobody of this Client has the lock.
func (s *lockState) promote() {
	if first := s.waiters.first; first != nil && s.holder == nil && first.state == queued {
		first.state = leading
		first.gone = make(chan struct{})
		first.notify()
	}
}

// grant makes a waiter the holder, and sends those of the same owner back to
// re-enter: nobody else could ever free the lock for them.
func (s *lockState) grant(w *waiter, o *ownership) {
	w.hold = o
	s.c.counters.acquired.Add(1)
	s.remove(w, granted)
	for _, same := range s.waiters.ofOwner(w) {
		s.remove(same, rejoined)
	}
}

// addUser adds a user to a queue that has one already.
func (s *lockState) addUser() { s.users.Add(1) }

// dropUser takes back one keep or [Client.joinQueue].
func (s *lockState) dropUser() {
	if s.users.Add(-1) == 0 {
		s.c.dropState(s)
	}
}

// wakeAll wakes everybody who waits, for Close.
func (s *lockState) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.waiters.first; w != nil; w = w.next {
		w.notify()
	}
}

package reentrant

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// lockState is all that one Client knows of one lock: which of its owners holds the lock, and the wait
// queue, first come, first served. Only the first waiter sends attempts to Redis, and only while no owner
// of this Client holds the lock.
type lockState struct {
	c    *Client
	name string
	keys lua.Keys

	// users counts the calls, holds and clean-ups that use the lock state. Only a caller with Client.mu
	// raises it from 0, and at 0 the Client drops the lock state (client.go).
	users atomic.Int64

	sequencer sequencer // who may send a command

	afterRedisson atomic.Bool // the last release that this Client heard of was Redisson's

	mu      sync.Mutex
	holder  *ownership           // live or being released; guarded by mu
	waiters waiters              // guarded by mu
	lostBy  map[string]*lostHold // guarded by mu
	since   int64                // arrival in the registry of waiters, 0: not in it; guarded by mu
	wakeups *wakeups             // subscription of the waiters; guarded by mu
	budget  budget               // guarded by mu
	outage  outage               // whether Redis answers; guarded by mu
	busy    bool                 // the waiters' last attempt found another owner; guarded by mu
	syncing bool                 // syncField is running; guarded by mu
}

func newLockState(c *Client, l *Lock) *lockState {
	return &lockState{c: c, name: l.name, keys: l.keys, sequencer: sequencer{taken: make(chan struct{}, 1)}}
}

// The caller of each of the following methods has lockState.mu, unless the method locks it.

// enqueue adds a waiter to the wait queue. If no owner of this Client is ahead, the waiter leads at once.
func (s *lockState) enqueue(r *request) *waiter {
	w := s.c.newWaiter()
	w.request, w.answers = *r, s.outage.answers
	s.waiters.add(w)
	if s.holder != nil && s.c.cfg.handoff == Remote {
		// The next release frees the lock for other clients. Subscribe now, so that the first attempt
		// after it can register this Client. Otherwise the others have the lock twice in a row.
		s.listen()
	}
	s.promote()
	return w
}

// remove takes a waiter out of the wait queue, in its final state.
func (s *lockState) remove(w *waiter, final waiterState) {
	w.state = final
	s.waiters.remove(w)
	if s.waiters.first == nil {
		s.busy = false
		s.stopListening()
	}
	w.notify()
}

// endWaits ends, with the error of the first waiter, the waits that have seen the same outage. Otherwise
// each of these waiters would begin to bear the outage anew when it leads. from is when the outage began,
// and answered says whether the first waiter has had an answer.
//
//   - A waiter that came before the outage ends.
//   - A waiter that came later ends if the first one never had an answer and this one has waited for 2 s:
//     no call without an answer waits for longer.
//   - Any other waiter goes on, and has borne the outage since it came.
func (s *lockState) endWaits(head *waiter, from time.Time, answered bool, err error) {
	if !lua.Retryable(err) || errors.Is(err, ErrReplicas) || errors.Is(err, errTooLate) || errors.Is(err, errStale) {
		return // the error is about this attempt alone
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

// silent reports whether Redis has not answered this Client for so long that the Client does not know any
// more who holds the lock. The question may have been an attempt, or a release of this Client's.
func (s *lockState) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil && s.holder.state == live {
		return false // an owner of this Client holds the lock, as Redis has confirmed
	}
	return s.outage.silent(time.Now())
}

// promote lets the first waiter lead if no owner of this Client has the lock.
func (s *lockState) promote() {
	if first := s.waiters.first; first != nil && s.holder == nil && first.state == queued {
		first.state = leading
		first.gone = make(chan struct{})
		first.notify()
	}
}

// grant makes a waiter the holder. Other waiters of the same owner have to re-enter: they would wait for
// their own owner.
func (s *lockState) grant(w *waiter, o *ownership) {
	w.hold = o
	s.c.counters.acquired.Add(1)
	s.remove(w, granted)
	for _, same := range s.waiters.ofOwner(w) {
		s.remove(same, rejoined)
	}
}

// addUser adds a user to a lock state that has one already.
func (s *lockState) addUser() { s.users.Add(1) }

// dropUser takes back one addUser, [Client.useState] or [Client.findState].
func (s *lockState) dropUser() {
	if s.users.Add(-1) == 0 {
		s.c.dropState(s)
	}
}

// wakeAll wakes every waiter, for Close.
func (s *lockState) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.waiters.first; w != nil; w = w.next {
		w.notify()
	}
}

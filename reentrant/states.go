package reentrant

import "time"

// maxIdleStates is how many lock states without users a Client keeps, of locks that it may use again soon: to make one costs
// a tenth of what a lock and an unlock cost the Client.
const maxIdleStates = 256

// idleStates are the lock states without users, and some that have got users since. Guarded by Client.mu.
type idleStates struct {
	ring []*lockState // grows to maxIdleStates
	next int          // where the oldest one is, in a full ring
}

// add keeps a state. It returns the one that has to go instead, or nil.
func (i *idleStates) add(s *lockState) (oldest *lockState) {
	s.idle = true
	if len(i.ring) < maxIdleStates {
		i.ring = append(i.ring, s)
		return nil
	}
	oldest, i.ring[i.next] = i.ring[i.next], s
	i.next = (i.next + 1) % maxIdleStates
	oldest.idle = false
	return oldest
}

// useState returns the state of a lock and makes the caller its user. The caller must call
// lockState.dropUser when it is done.
func (c *Client) useState(l *Lock) *lockState {
	if s := c.recent.Load(); s != nil && s.of(l) && s.joinUsers() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[l.kind.number][l.name]
	if s == nil {
		s = newLockState(c, l)
		q := &s.sequencer
		q.unknown = !c.inheritUntil.IsZero() && time.Now().Before(c.inheritUntil)
		q.inherited = q.unknown
		c.states[l.kind.number][l.name] = s
	}
	s.addUser()
	c.recent.Store(s)
	return s
}

// findState is useState for a lock state that is in use already; nil if there is none.
func (c *Client) findState(l *Lock) *lockState {
	if s := c.recent.Load(); s != nil && s.of(l) && s.joinUsers() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[l.kind.number][l.name]
	if s == nil || s.users.Load() == 0 {
		return nil
	}
	s.addUser()
	return s
}

// dropState keeps a lock state that has no users for the next one, or removes it. It does nothing if a call has become a user
// since.
func (c *Client) dropState(s *lockState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.users.Load() > 0 || c.states[s.kind.number][s.name] != s {
		return
	}
	if s.rest() {
		if s.idle {
			return
		}
		if s = c.unused.add(s); s == nil || s.users.Load() > 0 { // with users it is not idle: they drop it
			return
		}
	}
	c.removeState(s)
}

// removeState removes a lock state. The caller has Client.mu. If a command is still unanswered, this can happen:
//
//  1. The command is a release, which Redis has not run yet.
//  2. The same owner takes the lock again, through a new lock state.
//  3. Redis runs the release, which frees the new hold.
//
// So for the next 10 minutes every new lock state of this Client, whatever its name, begins by
// setting an epoch, which voids the command. That costs little.
func (c *Client) removeState(s *lockState) {
	if c.states[s.kind.number][s.name] != s {
		return // removed before, when it did not rest
	}
	delete(c.states[s.kind.number], s.name)
	c.recent.CompareAndSwap(s, nil)
	if q := &s.sequencer; q.unknown && !q.inherited { // inheritUntil covers what was inherited
		c.inheritUntil = time.Now().Add(inheritFor)
	}
}

// rest makes a lock state as a new one, and reports false if it is not one to keep. The caller has Client.mu, and there are no
// users: only they have the turn, and write what rest reads.
func (s *lockState) rest() bool {
	if s.sequencer.unknown || s.line != nil || s.wakeups != nil || s.syncing || len(s.lostReaders) > 0 || !s.state.Rest() {
		return false
	}
	s.afterRedisson.Store(false)
	s.sequencer.registrations = 0
	s.sequencer.expected.Store(nil)
	return true
}

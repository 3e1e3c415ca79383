package reentrant

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// lockState is one lock in one Client: the state that decides (package lockstate), and what carries its
// decisions out.
type lockState struct {
	c    *Client
	kind *kind
	name string
	keys lua.Keys

	// users counts the calls, holds and clean-ups that use the lock state. Only a caller with Client.mu
	// raises it from 0, and at 0 the Client may drop the lock state (states.go). Above 0 it is no other than
	// the state that Client.states has for the lock.
	users atomic.Int64
	idle  bool // Client.unused has it; guarded by Client.mu

	sequencer sequencer // who may send a command

	afterRedisson atomic.Bool // the last release that this Client heard of was Redisson's

	mu      sync.Mutex
	state   lockstate.State // guarded by mu
	wakeups *wakeups        // subscription of the waiters; guarded by mu
	syncing bool            // syncField is running; guarded by mu
	line    *line           // of a fair lock, otherwise nil; guarded by mu

	lostReaders []*ownership // of which tellLostReaders is to tell; guarded by mu
}

func newLockState(c *Client, l *Lock) *lockState {
	s := &lockState{c: c, kind: l.kind, name: l.name, keys: l.keys, sequencer: sequencer{taken: make(chan struct{}, 1)}}
	if l.kind.lines {
		s.line = &line{}
	}
	s.state.Init(c.coreOf(l.kind), (*engine)(s), c.isClosing())
	return s
}

// of reports whether it is the lock state of a lock.
func (s *lockState) of(l *Lock) bool { return s.c == l.c && s.kind == l.kind && s.name == l.name }

// addUser adds a user to a lock state that has one already.
func (s *lockState) addUser() { s.users.Add(1) }

// joinUsers adds a user unless there is none. Then the Client may have dropped the lock state, and may
// have another one for the lock.
func (s *lockState) joinUsers() bool {
	for {
		n := s.users.Load()
		if n == 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// dropUser takes back one addUser, [Client.useState] or [Client.findState].
func (s *lockState) dropUser() {
	if s.users.Add(-1) == 0 {
		s.c.dropState(s)
	}
}

// beginClose has the lock state grant nothing any more.
func (s *lockState) beginClose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Close()
}

// liveHolder returns the ownership of this Client that holds the lock alone, or nil. The caller has
// lockState.mu.
func (s *lockState) liveHolder() *ownership {
	if o := s.state.Holder(); o != nil && o.State() == lockstate.Live {
		return ownershipOf(o)
	}
	return nil
}

// engine is the lock state as package lockstate sees it. It calls these methods with lockState.mu held.
type engine lockState

var _ lockstate.Engine = (*engine)(nil)

// Ownership implements [lockstate.Engine]. The caller has announced its call to Close.
func (e *engine) Ownership(of *lockstate.Lease) *lockstate.Ownership {
	s := (*lockState)(e)
	if of != nil && of.Root() != nil {
		return s.reader(of)
	}
	if of != nil {
		o := &ownership{s: s}
		return o.bind(of)
	}
	own := &ownLease{ownership: ownership{s: s}, lease: lease{s: s}}
	own.lease.core.Watch = &own.lease
	s.c.work.Add(1) // before held: Close uses the difference
	s.c.held.Add(1)
	s.addUser()
	return own.bind(&own.lease.core)
}

// CleanUp implements [lockstate.Engine].
func (e *engine) CleanUp(owner string, to *lockstate.Parting, until time.Time) {
	(*lockState)(e).cleanUp(owner, to, until)
}

// FreeAt implements [lockstate.Engine].
func (e *engine) FreeAt(l *lockstate.Lease, at, until time.Time) {
	(*lockState)(e).freeAt(l, at, until)
}

// RepairCount implements [lockstate.Engine].
func (e *engine) RepairCount(o *lockstate.Ownership) { (*lockState)(e).repairCount(ownershipOf(o)) }

// LeaveRegistry implements [lockstate.Engine].
func (e *engine) LeaveRegistry() { (*lockState)(e).leaveRegistry() }

// SyncField implements [lockstate.Engine].
func (e *engine) SyncField() { (*lockState)(e).syncField() }

// Listen implements [lockstate.Engine].
func (e *engine) Listen() { (*lockState)(e).listen() }

// StopListening implements [lockstate.Engine].
func (e *engine) StopListening() { (*lockState)(e).stopListening() }

// Remember implements [lockstate.Engine].
func (e *engine) Remember(l *lockstate.Losses, renewed bool) {
	(*lockState)(e).c.rememberLoss((*lockState)(e), l, renewed)
}

// Forget implements [lockstate.Engine].
func (e *engine) Forget(l *lockstate.Losses) bool { return e.c.forgetLoss(l) }

// coreOf is what of the configuration the lock states of a kind go by.
func (c *Client) coreOf(k *kind) *lockstate.Config {
	switch {
	case k.lines:
		return &c.coreFair
	case k.twoModes:
		return &c.coreRW
	}
	return &c.core
}

// core is what of the configuration a lock state goes by.
func (c *config) core() lockstate.Config {
	handoff := map[Handoff]lockstate.Handoff{Confirmed: lockstate.Confirmed, Remote: lockstate.Never, WriteBehind: lockstate.WriteBehind}
	return lockstate.Config{Lease: c.lease, MaxHold: c.maxHold, Handoff: handoff[c.handoff], Replicas: c.replicas}
}

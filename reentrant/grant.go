package reentrant

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// A release grants the lock to the Client that has waited longest: the script writes the field of the owner for
// which that Client waits, with the claim time as its TTL, and publishes the nonce of the attempt that has
// registered the Client (lua/grant.lua). The waiter that hears the nonce holds the lock, without a command. The
// watchdog's first renewal raises the TTL to the lease, unless the release comes before.
//
// Two clients never trust the lock at once, for these reasons:
//
//   - The claim counts from before the attempt was sent. Redis ran the attempt later, and the release later
//     still, so the field stands longer than the waiter trusts it.
//   - Only the nonce of the last command about the lock counts. Every command of this Client that could take
//     the field back (an attempt, a release of a clean-up, a leave) is sent in the turn and clears what is
//     expected before it is sent (turn.order). An earlier command that was not answered is void by then: the
//     attempt has set the epoch.
//   - The waiter accepts the grant with the turn, so no command is on its way meanwhile.
//
// What else can happen:
//
//   - The message is lost: the waiter's next attempt finds its owner's field, and has the lock.
//   - The waiter leaves: the next waiter's attempt, or the leave, names the owner. The script takes its field
//     back (lockstate.State.Grantees).
//   - The process has died or stands still: the lock is free when the claim ends.
//   - A user who may publish, and not read keys, cannot grant: the nonce is random.

// claimTime is how long a lock is the owner's that a release has granted, if its lease is not shorter. A stopped
// process keeps the lock from others for so long. A granted hold that is not renewed yet does not outlast a
// Redis that is silent for half of it.
const claimTime = 3 * time.Second

// Every ungranted-th registration asks to be woken instead of granted. A client of Redisson that listens at a
// replica is in no count (lua/redisson.lua): it has a chance only if a release frees the lock.
const ungranted = 16

// expectedGrant is what an attempt has asked a release for.
type expectedGrant struct {
	nonce string
	sent  time.Time // before the attempt was sent
	claim time.Duration

	heard atomic.Bool
	token atomic.Int64 // set before heard; 0: none
}

// expectGrant has the attempt that is about to be sent ask for a grant, and returns its nonce and its claim. The
// nonce is empty if a release is to wake the waiter instead:
//
//   - A read-write lock is passed on by rules of its own (lua/rw.lua).
//   - A hold with a fixed lease, or of a MultiLock, is made for more than the claim.
//   - With WithReplicaAcks the command that grants the lock is the waiter's own, and asks the replicas.
//   - A write-behind hand-off needs a lease that lasts.
func (t turn) expectGrant(w *waiter, sent time.Time) (nonce string, claim time.Duration) {
	q := &t.s.sequencer
	if t.s.kind.twoModes || w.Fixed || w.member || t.s.c.cfg.replicas > 0 || t.s.c.cfg.handoff == WriteBehind || q.registrations%ungranted == ungranted-1 {
		return "", 0
	}
	e := &expectedGrant{nonce: rand.Text(), sent: sent, claim: min(claimTime, w.Lease)}
	q.expected.Store(e)
	return e.nonce, e.claim
}

// hear looks whether a message is the grant: the nonce, and the token if the lock has fencing.
func (e *expectedGrant) hear(message string) {
	if e == nil || e.heard.Load() {
		return
	}
	nonce, token, _ := strings.Cut(message, " ")
	if nonce != e.nonce {
		return
	}
	if n, err := strconv.ParseInt(token, 10, 64); err == nil {
		e.token.Store(n)
	}
	e.heard.Store(true)
}

func (e *expectedGrant) wasHeard() bool { return e != nil && e.heard.Load() }

// takeGrant makes the first waiter the holder if a release has granted it the lock. It returns nil if the waiter
// has to make an attempt.
func (s *lockState) takeGrant(w *waiter) *ownership {
	e := s.sequencer.expected.Load()
	if !e.wasHeard() {
		return nil
	}
	o := s.acceptGrant(w, e)
	if o == nil {
		return nil
	}
	w.wake(byMessage)
	s.tellWoken(w)
	if !s.c.mute {
		o.announce(w.number, func() { // without the turn, as after an attempt
			e := o.got(w, time.Since(w.Began))
			e.How = w.how()
			s.c.acquired(e)
		})
	}
	return o
}

func (s *lockState) acceptGrant(w *waiter, e *expectedGrant) *ownership {
	t, ok := s.tryTurn()
	if !ok {
		return nil // a command is about to be sent: it may take the field back
	}
	defer t.done()
	if !s.sequencer.expected.CompareAndSwap(e, nil) {
		return nil // a command was sent since
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := lockstate.Grant{Token: e.token.Load(), Lease: e.claim, Sent: e.sent, Late: s.c.renewalsMayBeLate()}
	of := s.state.GrantedByRelease(&w.Waiter, g, time.Now())
	if of == nil {
		return nil
	}
	s.c.counters.acquired.Add(1)
	s.c.counters.granted.Add(1)
	s.c.counters.wakeUps[byMessage].Add(1)
	return ownershipOf(of)
}

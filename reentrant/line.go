package reentrant

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
)

// The waiters of a fair lock stand in a line in Redis, with those of all other Clients and of Redisson. Redis is told
// of a waiter in one of these ways:
//
//   - by its own attempt, if it leads;
//   - by a hand-off inside this Client, which takes the newcomers along;
//   - by a command of the clean-up, lineUp, as soon as it waits behind others.
//
// While waiters are in the line, another command of the clean-up, keepPlaces, looks after them every few seconds: it
// puts back who was dropped, and keeps the scores by which Redisson drops waiters.
//
// All these commands have the turn. So the tickets of this Client are in the line in the order of its wait queue.

// placesEvery is the time between two looks at the places in the line. Redisson drops the first waiter when its score
// has passed; a score is WithQueueTimeout away when it was just set.
const placesEvery = 5 * time.Second

// lineUpAfter is how long a newcomer waits for a hand-off that takes it along. Where goroutines hand a lock over at once,
// each would otherwise cost a command of its own, which all others have to wait for.
const lineUpAfter = time.Millisecond

// line is what the engine keeps of the line, guarded by lockState.mu. Each instant is when a clean-up of that kind
// ends at the latest, and zero if there is none.
type line struct {
	liningUp, keeping, leaving time.Time
}

// ticket sets the ticket of a waiter of a fair lock, which has not joined the wait queue yet. A call that does not
// wait has none.
func (s *lockState) ticket(w *waiter) {
	if s.kind.lines && !w.Single {
		w.Ticket = lua.TicketOf(w.Owner, s.c.arrivals.next(w.Began))
	}
}

// attemptInLine is what the attempt of a waiter says of the line; nil: the lock is no fair one. The first attempt puts
// the waiter into the line only if it would hear that it is its turn. The caller has lockState.mu.
func (s *lockState) attemptInLine(w *waiter, heard bool) *lua.InLine {
	if !s.kind.lines {
		return nil
	}
	in := &lua.InLine{Wait: s.c.cfg.queueTimeout, Wake: s.c.wakeUp()}
	if heard || w.attempted {
		in.Ticket, in.Lined = w.Ticket, w.InLine()
	}
	w.attempted = true
	return in
}

// settleInLine notes what the answer to an attempt, or its absence, says of the waiter's place. The caller has
// lockState.mu.
func (s *lockState) settleInLine(w *waiter, in *lua.InLine, err error) {
	switch {
	case in == nil || in.Ticket == "":
		return
	case err == nil:
		s.state.LinedUp(&w.Waiter)
		s.keepPlaces()
	case lua.Unknown(err):
		s.state.MaybeLinedUp(&w.Waiter)
	}
}

// takeAlong makes a hand-off take the newcomers along, if the lock is a fair one.
func (s *lockState) takeAlong(move *lua.Transfer, w *waiter) (newcomers []*lockstate.Waiter) {
	if !s.kind.lines {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newcomers = s.newcomers()
	move.InLine = &lua.InLine{Ticket: w.Ticket, Lined: w.InLine(), Wait: s.c.cfg.queueTimeout, Newcomers: tickets(newcomers)}
	return newcomers
}

func tickets(of []*lockstate.Waiter) (all []string) {
	for _, w := range of {
		all = append(all, w.Ticket)
	}
	return all
}

// lined notes what the answer to a command that has told Redis of newcomers, or its absence, says of them.
func (s *lockState) lined(newcomers []*lockstate.Waiter, v lua.Verdict, before bool, err error) {
	if len(newcomers) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && (v == lua.Done || v == lua.PassedOn):
		s.state.LinedUp(newcomers...)
		s.keepPlaces()
	case before || lua.Unknown(err):
		s.state.MaybeLinedUp(newcomers...)
	}
}

// lineUp tells Redis of the newcomers, in the background. The caller has lockState.mu.
func (s *lockState) lineUp() {
	now := time.Now()
	if now.Before(s.line.liningUp) {
		return
	}
	s.line.liningUp = now.Add(registryTTL)
	s.listen() // who is told of must hear that it is its turn
	up := &cleanup{s: s, at: now.Add(lineUpAfter), until: s.line.liningUp, spare: true}
	up.try = func(ctx context.Context) (done bool) {
		for {
			over, none := s.linedUpAll()
			if over || none {
				up.pause = 0 // for those of whom Redis may not be told yet: that is a matter of a round trip
				return over
			}
			if err := s.tellLine(ctx, false); err != nil {
				return false
			}
		}
	}
	s.c.cleanups.add(up)
}

// linedUpAll reports whether there are no newcomers any more, and then lineUp is over; and whether there are none of whom
// Redis may be told now.
func (s *lockState) linedUpAll() (over, none bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over = len(s.state.Newcomers()) == 0; over {
		s.line.liningUp = time.Time{}
	}
	return over, len(s.newcomers()) == 0
}

// newcomers are those of whom Redis may be told. The race that this closes:
//
//  1. A waiter comes, and the Client subscribes to its channel.
//  2. Redis is told of the waiter, by another connection, before it has the subscription.
//  3. A release finds the waiter first in the line, and nobody listens. It drops the waiter, as one that is dead.
//  4. A waiter that came later, of another Client, gets the lock.
//
// So Redis is told only while the Client listens. A Client that cannot listen has its waiters tell after a while; they look by
// themselves. The caller has lockState.mu.
func (s *lockState) newcomers() []*lockstate.Waiter {
	all := s.state.Newcomers()
	if s.listening() {
		return all
	}
	young := slices.IndexFunc(all, func(w *lockstate.Waiter) bool { return time.Since(w.Began) < firstUnsubscribedPoll })
	if young >= 0 {
		all = all[:young]
	}
	return all
}

// keepPlaces looks after the places of this Client's waiters, in the background, after a while and again and again. The
// caller has lockState.mu.
func (s *lockState) keepPlaces() {
	now := time.Now()
	if now.Before(s.line.keeping) {
		return
	}
	s.line.keeping = now.Add(placesEvery + registryTTL)
	look := &cleanup{s: s, at: now.Add(placesEvery), until: s.line.keeping, spare: true}
	look.try = func(ctx context.Context) (done bool) {
		_ = s.tellLine(ctx, true) // otherwise the next look does it
		s.mu.Lock()
		defer s.mu.Unlock()
		s.line.keeping = time.Time{}
		if s.state.Lines() {
			s.keepPlaces()
		}
		return true
	}
	s.c.cleanups.add(look)
}

// tellLine tells Redis of the newcomers, if there are any. With refresh it also tells of the first who are in the line, and
// has the scores put right.
func (s *lockState) tellLine(ctx context.Context, refresh bool) error {
	t, ok := s.takeTurnUnless(ctx.Done())
	if !ok {
		return ctx.Err()
	}
	defer t.done()
	s.mu.Lock()
	var old []*lockstate.Waiter
	if refresh {
		old = s.state.OldInLine()
	}
	added := s.newcomers()
	s.mu.Unlock()
	if len(old)+len(added) == 0 {
		return nil
	}
	v, before, err := t.repeat(0, func(order lua.Order) (lua.Verdict, error) {
		v, _, err := lua.LineUp{
			Client: s.c.id, Order: order, Wait: s.c.cfg.queueTimeout, Refresh: refresh, Old: tickets(old), New: tickets(added),
		}.Run(ctx, s.c.single, &s.keys)
		return v, err
	})
	s.lined(added, v, before, err)
	return err
}

// leaveLine takes the departed out of the line, in the background. The caller has lockState.mu.
func (s *lockState) leaveLine() {
	now := time.Now()
	if now.Before(s.line.leaving) {
		return
	}
	s.line.leaving = now.Add(registryTTL)
	s.inTurn(s.line.leaving, func(ctx context.Context, t turn) (done bool) {
		for {
			s.mu.Lock()
			departed := s.state.Departed()
			if len(departed) == 0 {
				s.line.leaving = time.Time{}
			}
			s.mu.Unlock()
			if len(departed) == 0 {
				return true
			}
			_, _, err := t.repeat(0, func(order lua.Order) (lua.Verdict, error) {
				return lua.LeaveLine{Tickets: departed, Order: order, Wake: s.c.wakeUp()}.Run(ctx, s.c.single, &s.keys)
			})
			if err != nil && lua.Retryable(err) {
				return false
			}
			s.mu.Lock()
			s.state.LeftLine(len(departed)) // also if Redis refuses for good: they are dropped when they are first
			s.mu.Unlock()
		}
	})
}

// listenInLine subscribes to what Redisson tells the first waiter, or ends that. A release by Redisson tells the first in the
// line, on a channel that ends in its ticket. So only a thread of Redisson that is ahead, or has the lock, matters.
// The exception is a forced unlock by Redisson: the first waiter finds that lock free when it looks by itself. The caller
// has lockState.mu.
func (s *lockState) listenInLine(first *waiter, busy lua.Granted) {
	w := s.wakeups
	needed := busy.RedissonAhead || busy.Holder != "" && !ofRedlatch(busy.Holder)
	if w == nil || needed && w.ticket == first.Ticket {
		return
	}
	w.stopListeningInLine()
	if !needed {
		return
	}
	w.ticket = first.Ticket
	w.told = s.c.hub.Listen(s.keys.Channel()+":"+first.Ticket, func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message {
			w.signal(byMessage)
		} else {
			w.signal(bySubscription) // a release may have come before it
		}
	})
}

func (w *wakeups) stopListeningInLine() {
	if w.told != nil {
		w.told.Close()
		w.told, w.ticket = nil, ""
	}
}

// inOrder are all who wait for a fair lock, in the order of the line. The calls of this Client of which Redis was not told
// yet are the last.
func (l *Lock) inOrder(places []lua.Place, here []Waiter) (all []Waiter) {
	calls := make(map[string][]Waiter) // by owner: an owner may wait in several calls
	for _, w := range here {
		calls[w.Field] = append(calls[w.Field], w)
	}
	for _, place := range places {
		if own := calls[place.Owner]; len(own) > 0 {
			all, calls[place.Owner] = append(all, own[0]), own[1:]
		} else if p, _ := partyOf(place.Owner); p.Client != l.c.id { // otherwise the call has left
			all = append(all, Waiter{Party: p, Since: place.Arrival})
		}
	}
	for _, w := range here {
		if own := calls[w.Field]; len(own) > 0 {
			all, calls[w.Field] = append(all, own[0]), own[1:]
		}
	}
	return all
}

// LineUp implements [lockstate.Engine].
func (e *engine) LineUp() { (*lockState)(e).lineUp() }

// LeaveLine implements [lockstate.Engine].
func (e *engine) LeaveLine() { (*lockState)(e).leaveLine() }

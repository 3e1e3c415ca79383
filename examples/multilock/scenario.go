package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// lease is short, so that a loss can be seen. The default is 30 s.
const lease = 2 * time.Second

// scenario is two processes, anna and bert, each with a Client on every server.
type scenario struct {
	log      timeline
	embedded bool
	links    []*link
	clients  []*reentrant.Client
	anna     *multilock.MultiLock
	bert     *multilock.MultiLock
	hold     *multilock.Hold
	spare    int // so many servers may go
}

func newScenario(links []*link, embedded bool, out io.Writer) (*scenario, error) {
	s := &scenario{
		log:      timeline{out: out, start: time.Now()},
		embedded: embedded,
		links:    links,
		spare:    (len(links) - 1) / 2,
	}
	s.log.servers = s.servers
	name := "payment-" + uuid.NewString()[:8]
	var errs [2]error
	s.anna, errs[0] = s.newLock(name)
	s.bert, errs[1] = s.newLock(name)
	return s, errors.Join(errs[:]...)
}

// newLock is what a process does that wants the lock: a Client for each server, a lock
// of each, and the quorum over them.
func (s *scenario) newLock(name string) (*multilock.MultiLock, error) {
	var locks []multilock.Locker
	for _, link := range s.links {
		// No records: the scenario itself tells of losses.
		client, err := reentrant.New(link.rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil))
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, client)
		locks = append(locks, client.NewLock(name))
	}
	if s.embedded {
		// They are new, so nobody can hold a lock on them: the case that this is for.
		return multilock.NewQuorumWith(locks, multilock.WithoutQuarantine())
	}
	return multilock.NewQuorum(locks...)
}

func (s *scenario) introduce() {
	where := "of REDIS_URLS"
	if s.embedded {
		where = "inside this program (set REDIS_URLS to use others)"
	}
	fmt.Fprintf(s.log.out, "A quorum of %d servers %s.\n", len(s.links), where)
	fmt.Fprintln(s.log.out, "anna and bert are two processes. Servers: # has the lock, . has not, x is down.")
}

// acquire takes the lock. On servers that were started a moment ago it waits until they
// cannot have forgotten a lock that somebody trusts.
func (s *scenario) acquire(ctx context.Context) (err error) {
	s.log.section("1. anna takes the lock, on all servers at the same time")
	began := time.Now()
	s.hold, err = s.anna.Acquire(ctx)
	if err != nil {
		return err
	}
	s.log.line("anna", "Acquire", "she has it, after %s", ms(time.Since(began)))
	return s.try(ctx)
}

// minority takes as many servers down as the lock can do without.
func (s *scenario) minority(ctx context.Context) error {
	s.log.section("2. %d servers go down: a majority is left, and the lock is held and renewed", s.spare)
	for _, link := range s.links[:s.spare] {
		link.cut()
		s.log.line("", "server down", "number %d", link.number)
	}
	for range 4 {
		if err := sleep(ctx, lease/2); err != nil {
			return err
		}
		if over(s.hold.Lost()) {
			return fmt.Errorf("lost with a minority: %w", context.Cause(s.hold.Context()))
		}
		s.log.line("anna", "ValidUntil", "in %s; the ctx of her work goes on", ms(time.Until(s.hold.ValidUntil())))
	}
	return s.try(ctx)
}

// majority takes one server more down: the lock is lost.
func (s *scenario) majority(ctx context.Context) error {
	s.log.section("3. One more goes down: the lock is lost, and the ctx of anna's work ends")
	last := s.links[s.spare]
	last.cut()
	s.log.line("", "server down", "number %d", last.number)
	down := time.Now()
	work := s.hold.Context()
	select {
	case <-work.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.log.line("anna", "ctx ended", "after %s; its lease there was not renewed any more", ms(time.Since(down)))
	var lost *multilock.LostError
	if !errors.As(context.Cause(work), &lost) {
		return fmt.Errorf("the ctx ended for another reason: %w", context.Cause(work))
	}
	s.log.line("anna", "context.Cause", "is ErrLost: %v; %d of %d valid, %d needed",
		errors.Is(context.Cause(work), reentrant.ErrLost), lost.Valid, lost.Of, lost.Need)
	err := s.hold.Release(ctx)
	s.log.line("anna", "Release", "is ErrLost: %v", errors.Is(err, reentrant.ErrLost))
	return s.try(ctx)
}

// comeBack brings the last server back: a majority again.
func (s *scenario) comeBack(ctx context.Context) error {
	s.log.section("4. It comes back: there is a majority again, and the lock is free")
	back := s.links[s.spare]
	back.mend()
	s.log.line("", "server up", "number %d", back.number)
	began := time.Now()
	hold, err := s.bert.Acquire(reentrant.WithOwner(ctx, "bert"))
	if err != nil {
		return err
	}
	s.hold = hold
	s.log.line("bert", "Acquire", "he has it, after %s", ms(time.Since(began)))
	return hold.Release(ctx)
}

// try has bert ask for the lock, which he must not get.
func (s *scenario) try(ctx context.Context) error {
	ok, err := s.bert.TryLock(reentrant.WithOwner(ctx, "bert"), lease/4, 0)
	var e *multilock.NotAcquiredError
	switch {
	case ok:
		return errors.New("bert has it too")
	case err == nil:
		s.log.line("bert", "TryLock", "false: it is somebody else's")
	case errors.As(err, &e):
		s.log.line("bert", "TryLock", "an error: %d of %d held, %d needed", e.Held, e.Of, e.Need)
	default:
		return err
	}
	return nil
}

// servers shows which servers the hold has, and which are down.
func (s *scenario) servers() string {
	var marks []byte
	var members []multilock.MemberState
	if s.hold != nil {
		members = s.hold.Members()
	}
	for i, link := range s.links {
		mark := byte('.')
		switch {
		case link.isDown():
			mark = 'x'
		case members != nil && members[i].Held:
			mark = '#'
		}
		marks = append(marks, mark)
	}
	return string(marks)
}

// cleanUp brings all servers back, closes the clients and removes what they may have
// left: locks of a scenario that was interrupted, and keys that would expire by
// themselves.
func (s *scenario) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, link := range s.links {
		link.mend()
	}
	if s.hold != nil {
		_ = s.hold.Release(ctx) // it has been, unless the scenario was interrupted
	}
	var errs []error
	for i, client := range s.clients {
		errs = append(errs, client.Close(ctx))
		keys := lua.KeysOf(s.anna.Name(), client.ID())
		errs = append(errs, s.links[i%len(s.links)].direct.Del(ctx, keys.Lock, keys.Epoch(), keys.Turn(), keys.Waiters()).Err())
	}
	return errors.Join(errs...)
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

//go:build unix

package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// turns takes the lock again and again. What is granted after the window is given
// back at once without going inside: a library may end a hold when its ctx does.
func (p *process) turns(ctx context.Context, goroutine int) (_ Served, err error) {
	lock, guards := p.lock(goroutine)
	if p.spec.Nested {
		if _, over, err := p.acquire(ctx, lock); over || err != nil {
			return Served{}, err
		}
		defer func() { err = errors.Join(err, release(lock)) }()
	}
	rec := newRecorder(p.win.Brief)
	waited := rec.add
	if p.spec.WriterOf > 0 && !p.writes(goroutine) {
		waited = func(time.Duration) {} // a writer waits for all the others
	}
	for {
		asked := clock.Now()
		if asked >= p.win.End {
			return rec.served(), nil
		}
		got, over, err := p.acquire(ctx, lock)
		switch {
		case err != nil:
			return rec.served(), fmt.Errorf("%s: lock: %w", p.spec.Peer, err)
		case got >= p.win.End:
			waited(p.win.End.Sub(asked))
			if over {
				return rec.served(), nil
			}
		default:
			if got >= p.win.Start {
				rec.acquired++
				waited(got.Sub(asked))
			}
			p.hold(guards, p.spec.Hold, isReading(lock))
		}
		if err := release(lock); err != nil {
			return rec.served(), fmt.Errorf("%s: unlock: %w", p.spec.Peer, err)
		}
	}
}

// lock is what a goroutine takes, and the guards of it: one for each member.
func (p *process) lock(goroutine int) (peer.Lock, []shared.Guard) {
	if p.spec.OwnLocks {
		number := p.spec.Process*p.spec.Goroutines + goroutine
		return p.client.Lock(fmt.Sprintf("%s:%d", p.spec.Name, number)), []shared.Guard{shared.GuardAt(p.words.Word(number))}
	}
	var guards []shared.Guard
	for member := range peer.Members(p.spec.Peer, p.spec.Name) {
		guards = append(guards, shared.GuardAt(p.words.Word(member)))
	}
	client := p.client
	if p.spec.OwnClients && goroutine > 0 {
		client = p.own[goroutine-1]
	}
	if sides, ok := client.(peer.TwoSided); ok && p.spec.WriterOf > 0 {
		return sides.Side(p.spec.Name, p.writes(goroutine)), guards
	}
	return client.Lock(p.spec.Name), guards
}

// writes reports whether a goroutine writes where most read. The writers are spread over the processes.
func (p *process) writes(goroutine int) bool {
	return (p.spec.Process*p.spec.Goroutines+goroutine)%p.spec.WriterOf == 0
}

// isReading reports whether others may hold the lock at the same time.
func isReading(lock peer.Lock) bool {
	shared, ok := lock.(peer.Shared)
	return ok && shared.Reading()
}

// hold is the work that the lock protects. Readers must be alone with readers.
func (p *process) hold(guards []shared.Guard, d time.Duration, reading bool) {
	enter, leave := shared.Guard.Enter, shared.Guard.Leave
	if reading {
		enter, leave = shared.Guard.EnterReading, shared.Guard.LeaveReading
	}
	alone := true
	for _, guard := range guards {
		alone = enter(guard) && alone
	}
	if d > 0 {
		time.Sleep(d)
	}
	for _, guard := range guards {
		alone = leave(guard) && alone
	}
	if !alone && !p.spec.Unchecked {
		p.violations.Add(1)
	}
}

//go:build unix

package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// Words of a ping-pong.
const (
	wordGuard  = 0
	wordHolder = 1 // 1 + the process that had the lock last
	wordAsking = 2 // and 3: not 0 while that process waits
)

const (
	// The waiter is given time to come to rest, up to an interval of the libraries
	// that poll, so that their polls do not fall in step with the releases.
	settle = 2 * time.Millisecond
	jitter = 10 * time.Millisecond
	look   = 200 * time.Microsecond // how often a process looks at the words
)

// pingPong passes the lock to and fro with another process: it gives the lock up
// only when the other waits, and asks again only when the other has had it. What
// is measured is the time from just before the release to the grant there.
func (p *process) pingPong(ctx context.Context) (Served, []Handoff, error) {
	me := p.spec.Process
	holder, asking := p.words.Word(wordHolder), p.words.Word(wordAsking+me)
	other := p.words.Word(wordAsking + 1 - me)
	guard := shared.GuardAt(p.words.Word(wordGuard))
	lock := p.client.Lock(p.spec.Name)
	var served Served
	var handoffs []Handoff
	for clock.Now() < p.win.End {
		asking.Store(1)
		got, over, err := p.acquire(ctx, lock)
		asking.Store(0)
		if over || err != nil {
			return served, handoffs, err
		}
		if got < p.win.End {
			alone := guard.Enter()
			holder.Store(int64(1 + me))
			p.await(func() bool { return other.Load() != 0 })
			time.Sleep(settle + rand.N(jitter))
			if alone = guard.Leave() && alone; !alone {
				p.violations.Add(1)
			}
		}
		left := clock.Now()
		if err := release(lock); err != nil {
			return served, handoffs, fmt.Errorf("%s: unlock: %w", p.spec.Peer, err)
		}
		handoffs = append(handoffs, Handoff{Process: me, Got: got, Left: left})
		if got >= p.win.Start && got < p.win.End {
			served.Acquired++
		}
		time.Sleep(time.Millisecond) // nobody polls beside the hand-off itself
		p.await(func() bool { return holder.Load() != int64(1+me) })
	}
	return served, handoffs, nil
}

// await returns when the condition holds or the window ends.
func (p *process) await(condition func() bool) {
	for !condition() && clock.Now() < p.win.End {
		time.Sleep(look)
	}
}

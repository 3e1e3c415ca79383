package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

var rung6 = rung{
	number: 6, slug: "polling",
	title: "Waiting by trying again",
	mends: "an owner that is known again, and a count of its holds",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"for !tryLock() { sleep(10ms) }"},
			actors: []string{"anna", "bert"},
			lease:  longLease,
			play:   func(ctx context.Context, s *stage) error { return polling(ctx, s, often) },
			judge:  judgeWaiting,
		},
		{
			who:    homeMade,
			code:   []string{"for !tryLock() { sleep(150ms) }"},
			actors: []string{"anna", "bert"},
			lease:  longLease,
			play:   func(ctx context.Context, s *stage) error { return polling(ctx, s, seldom) },
			judge:  judgeWaiting,
		},
		{
			who:    redlatch,
			code:   []string{"ok, err := lock.TryLock(ctx, 2*time.Second, 0)   // the release wakes the waiter"},
			actors: []string{"anna", "bert"},
			lease:  longLease,
			play:   wokenByMessage,
			judge:  judgeWaiting,
		},
	},
}

const (
	longLease = 5 * time.Second // no lease ends and none is renewed in this rung
	often     = 10 * time.Millisecond
	seldom    = 150 * time.Millisecond
	busy      = 375 * time.Millisecond // how long bert has to wait
	tooOften  = 10                     // tries in vain
)

// polling: bert tries every so often. anna releases halfway between two of his tries,
// as she does on average.
func polling(ctx context.Context, s *stage, pause time.Duration) error {
	anna, bert, _, err := s.three(ctx)
	if err != nil {
		return err
	}
	hers, his := anna.value(), bert.value()
	tries := int(busy / pause)
	tried := make(step) // so often
	enough := sync.OnceFunc(tried.done)
	s.begin(ctx)
	if _, err := anna.setNX(ctx, hers, s.t(longLease)); err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			err := anna.insideUntil(ctx, func(ctx context.Context) error {
				if err := tried.wait(ctx); err != nil {
					return err
				}
				return sleep(ctx, s.t(pause/2))
			})
			if err != nil {
				return err
			}
			anna.say("lets go", "", none)
			return anna.deleteIfMine(ctx, hers)
		},
		func(ctx context.Context) error {
			defer enough()
			for n := 1; ; n++ {
				ok, err := bert.setNX(ctx, his, s.t(longLease))
				if err != nil {
					return err
				}
				if ok {
					break
				}
				if n == tries+1 {
					enough()
				}
				if err := sleep(ctx, s.t(pause)); err != nil {
					return err
				}
			}
			if err := bert.inside(ctx, s.t(work)); err != nil {
				return err
			}
			if err := bert.deleteIfMine(ctx, his); err != nil {
				return err
			}
			s.rec.fact("commands", bert.wire.commands())
			return nil
		},
	)
}

func wokenByMessage(ctx context.Context, s *stage) error {
	anna, bert, _, err := s.three(ctx)
	if err != nil {
		return err
	}
	hers, err := anna.redlatch(ctx, reentrant.WithLease(s.t(longLease)))
	if err != nil {
		return err
	}
	his, err := bert.redlatch(ctx, reentrant.WithLease(s.t(longLease)))
	if err != nil {
		return err
	}
	s.begin(ctx)
	hold, err := anna.acquire(ctx, hers.NewLock(s.key))
	if err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			if err := anna.inside(hold.Context(), s.t(busy)); err != nil {
				return err
			}
			anna.say("lets go", "", none)
			return anna.release(ctx, hold)
		},
		func(ctx context.Context) error {
			hold, err := bert.acquire(ctx, his.NewLock(s.key))
			if err != nil {
				return err
			}
			if err := bert.inside(hold.Context(), s.t(work)); err != nil {
				return err
			}
			if err := bert.release(ctx, hold); err != nil {
				return err
			}
			s.rec.fact("commands", bert.wire.commands())
			s.rec.fact("messages", int(his.Stats().WakeUps.Message))
			return nil
		},
	)
}

// judgeWaiting asks what the wait has cost, and how long the lock was free meanwhile.
func judgeWaiting(r *recording) verdict {
	his, in := r.stay("bert")
	if !in {
		return verdict{"not served", "bert was never inside."}
	}
	delay := his.from - r.when("anna", "lets go")
	v := verdict{text: fmt.Sprintf("bert sent %d commands, and was inside %s ms after anna had let go.", r.facts["commands"], ms(delay))}
	switch {
	case r.tries("bert") > tooOften:
		v.failure = wasteful
		v.text += fmt.Sprintf(" He asked in vain %d times, and every other waiter does the same.", r.tries("bert"))
	case r.facts["messages"] == 0:
		v.failure = late
		v.text += " He slept while the lock was free."
	default:
		v.text += fmt.Sprintf(" Messages that woke him: %d.", r.facts["messages"])
	}
	return v
}

package main

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/reentrant"
)

var rung2 = rung{
	number: 2, slug: "frees-another",
	title: "DEL, whoever holds the lock",
	mends: "key and TTL in one command: a crashed holder's lock expires",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"SET lock 1 NX PX 30000", "DEL lock"},
			actors: []string{"anna", "bert", "carl"},
			lease:  lease,
			play:   delWithoutOwner,
			judge:  judgeThefts,
		},
		{
			who:    redlatch,
			code:   []string{"err := hold.Release(ctx)   // the hold knows whose it is"},
			actors: []string{"anna", "bert", "carl"},
			lease:  lease,
			play: func(ctx context.Context, s *stage) error {
				return lateReleaseWithRedlatch(ctx, s, false)
			},
			judge: judgeThefts,
		},
	},
}

// delWithoutOwner: anna's work is done in time, but her DEL comes when the lock has
// expired and is bert's.
func delWithoutOwner(ctx context.Context, s *stage) error {
	anna, bert, carl, err := s.three(ctx)
	if err != nil {
		return err
	}
	bertIn, annaDone, carlIn := make(step), make(step), make(step)
	s.begin(ctx)
	if err := anna.spin(ctx, "1", s.t(retry)); err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			if err := anna.inside(ctx, s.t(work)); err != nil {
				return err
			}
			anna.say("pauses", "her work is done", none)
			if err := bertIn.wait(ctx); err != nil {
				return err
			}
			defer annaDone.done()
			return anna.del(ctx)
		},
		func(ctx context.Context) error {
			if err := bert.spin(ctx, "1", s.t(retry)); err != nil {
				return err
			}
			return bert.insideUntil(ctx, s.untilJoined(bertIn, carlIn))
		},
		func(ctx context.Context) error {
			if err := annaDone.wait(ctx); err != nil {
				return err
			}
			if err := carl.spin(ctx, "1", s.t(retry)); err != nil {
				return err
			}
			carlIn.done()
			return carl.inside(ctx, s.t(2*work))
		},
	)
}

// untilJoined is work during which somebody else gets in, and a little more.
func (s *stage) untilJoined(in, joined step) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := sleep(ctx, s.t(work/2)); err != nil {
			return err
		}
		in.done()
		if err := joined.wait(ctx); err != nil {
			return err
		}
		return sleep(ctx, s.t(work))
	}
}

// lateReleaseWithRedlatch: anna's release comes when her lease has ended and the lock is
// bert's. With inFlight it left her in time and is late on the way; otherwise she paused.
func lateReleaseWithRedlatch(ctx context.Context, s *stage, inFlight bool) error {
	anna, bert, carl, err := s.three(ctx)
	if err != nil {
		return err
	}
	var locks []*reentrant.Lock
	for _, p := range []*process{anna, bert, carl} {
		client, err := p.redlatch(ctx)
		if err != nil {
			return err
		}
		locks = append(locks, client.NewLock(s.key))
	}
	bertIn, annaDone := make(step), make(step)
	s.begin(ctx)
	hold, err := anna.acquire(ctx, locks[0], reentrant.WithFixedLease(s.t(lease)))
	if err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			defer annaDone.done()
			if err := anna.inside(ctx, s.t(work)); err != nil {
				return err
			}
			let := func() {}
			if inFlight {
				let = anna.wire.hold()
				anna.say("network", "her packets are held up from now on", none)
			} else {
				anna.say("pauses", "her work is done", none)
				if err := bertIn.wait(ctx); err != nil {
					return err
				}
			}
			return together(ctx,
				func(ctx context.Context) error {
					defer let()
					return bertIn.wait(ctx)
				},
				func(ctx context.Context) error {
					anna.say("sends", "Release", none)
					return anna.releaseLate(ctx, hold)
				},
			)
		},
		func(ctx context.Context) error {
			hold, err := bert.acquire(ctx, locks[1])
			if err != nil {
				return err
			}
			err = bert.insideUntil(hold.Context(), func(ctx context.Context) error {
				if err := sleep(ctx, s.t(work/2)); err != nil {
					return err
				}
				bertIn.done()
				return sleep(ctx, s.t(work))
			})
			if err != nil {
				return err
			}
			return bert.release(ctx, hold)
		},
		func(ctx context.Context) error {
			if err := annaDone.wait(ctx); err != nil {
				return err
			}
			hold, err := carl.acquire(ctx, locks[2])
			if err != nil {
				return err
			}
			if err := carl.inside(hold.Context(), s.t(work)); err != nil {
				return err
			}
			return carl.release(ctx, hold)
		},
	)
}

// judgeThefts asks whether a lock was freed by somebody else.
func judgeThefts(r *recording) verdict {
	thefts, overlaps := r.thefts(), r.overlaps()
	switch {
	case len(thefts) > 0 && len(overlaps) > 0:
		t, o := thefts[0], overlaps[0]
		return verdict{freesAnother, fmt.Sprintf("At %s ms %s freed the lock while %s held it, and %s: two at once for %s ms.",
			ms(t.at), t.thief, t.victim, o, ms(o.length()))}
	case len(overlaps) > 0:
		return verdict{twoAtOnce, overlaps[0].String() + "."}
	default:
		his, _ := r.stay("bert")
		next, _ := r.stay("carl")
		return verdict{text: fmt.Sprintf("anna's late release freed nothing. carl was inside %s ms after bert had left; never two at once.",
			ms(next.from-his.to))}
	}
}

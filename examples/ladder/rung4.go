package main

import (
	"context"
	"fmt"
)

var rung4 = rung{
	number: 4, slug: "short-lease",
	title: "A fixed lease, and work that takes longer",
	mends: "look and delete in one script: a late release changes nothing",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"SET lock $mine NX PX 30000", "EVAL \"if GET == $mine then DEL\""},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   outlastLease,
			judge:  judgeOverlap,
		},
		{
			who:    redlatch,
			code:   []string{"err := lock.Do(ctx, longWork)   // renewed while the work runs, every third of the lease"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   outlastLeaseWithRedlatch,
			judge:  judgeOverlap,
		},
	},
}

// outlastLease: anna works until bert has come in, and a little more.
func outlastLease(ctx context.Context, s *stage) error {
	anna, bert, _, err := s.three(ctx)
	if err != nil {
		return err
	}
	hers, his, bertIn := anna.value(), bert.value(), make(step)
	s.begin(ctx)
	if err := anna.spin(ctx, hers, s.t(retry)); err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			err := anna.insideUntil(ctx, func(ctx context.Context) error {
				if err := bertIn.wait(ctx); err != nil {
					return err
				}
				return sleep(ctx, s.t(lease/2))
			})
			if err != nil {
				return err
			}
			return anna.deleteIfMine(ctx, hers)
		},
		func(ctx context.Context) error {
			if err := bert.spin(ctx, his, s.t(retry)); err != nil {
				return err
			}
			err := bert.insideUntil(ctx, func(ctx context.Context) error {
				bertIn.done()
				return sleep(ctx, s.t(lease*2/3))
			})
			if err != nil {
				return err
			}
			return bert.deleteIfMine(ctx, his)
		},
	)
}

func outlastLeaseWithRedlatch(ctx context.Context, s *stage) error {
	anna, bert, _, err := s.three(ctx)
	if err != nil {
		return err
	}
	hers, err := anna.redlatch(ctx)
	if err != nil {
		return err
	}
	his, err := bert.redlatch(ctx)
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
			if err := anna.inside(hold.Context(), s.t(lease*3/2)); err != nil {
				return err
			}
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
			return bert.release(ctx, hold)
		},
	)
}

// judgeOverlap asks whether two were inside, and if not, how the lease was kept alive.
func judgeOverlap(r *recording) verdict {
	if all := r.overlaps(); len(all) > 0 {
		return verdict{twoAtOnce, fmt.Sprintf("%s: two at once for %s ms.", all[0], ms(all[0].length()))}
	}
	hers, _ := r.stay("anna")
	his, in := r.stay("bert")
	renewed := 0
	for _, l := range r.tracks[0].lives() {
		renewed += l.raised()
	}
	if !in {
		return verdict{"not served", "bert was never inside."}
	}
	return verdict{text: fmt.Sprintf(
		"anna worked for %s ms on a lease of %s ms, renewed %d times; bert was inside %s ms after she had left. Never two at once.",
		ms(hers.to-hers.from), ms(r.t(lease)), renewed, ms(his.from-hers.to))}
}

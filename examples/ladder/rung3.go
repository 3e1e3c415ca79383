package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

var rung3 = rung{
	number: 3, slug: "get-then-del",
	title: "GET, and DEL if it is mine",
	mends: "a value of one's own: who sees another's does not delete it",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"SET lock $mine NX PX 30000", "if GET lock == $mine { DEL lock }"},
			actors: []string{"anna", "bert", "carl"},
			lease:  lease,
			play:   getThenDel,
			judge:  judgeThefts,
		},
		{
			who:    redlatch,
			code:   []string{"err := hold.Release(ctx)   // one script looks and deletes; late, it changes nothing"},
			actors: []string{"anna", "bert", "carl"},
			lease:  lease,
			play: func(ctx context.Context, s *stage) error {
				return lateReleaseWithRedlatch(ctx, s, true)
			},
			judge: judgeThefts,
		},
	},
}

// getThenDel: anna looks in time, but her DEL is late on the way to Redis, and arrives
// when the lock has expired and is bert's.
func getThenDel(ctx context.Context, s *stage) error {
	anna, bert, carl, err := s.three(ctx)
	if err != nil {
		return err
	}
	bertIn, annaDone, carlIn := make(step), make(step), make(step)
	mine := anna.value()
	s.begin(ctx)
	if err := anna.spin(ctx, mine, s.t(retry)); err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			if err := anna.inside(ctx, s.t(work)); err != nil {
				return err
			}
			seen, err := anna.rdb.Get(ctx, s.key).Result()
			if err != nil && err != redis.Nil {
				return err
			}
			if seen != mine {
				return errors.New("anna's lock was gone before she looked: the machine stood still")
			}
			anna.say("GET", "it is hers", none)
			let := anna.wire.hold()
			anna.say("network", "her packets are held up from now on", none)
			defer annaDone.done()
			return together(ctx,
				func(ctx context.Context) error {
					defer let()
					return bertIn.wait(ctx)
				},
				func(ctx context.Context) error {
					anna.say("sends", "DEL", none)
					return anna.del(ctx)
				},
			)
		},
		func(ctx context.Context) error {
			if err := bert.spin(ctx, bert.value(), s.t(retry)); err != nil {
				return err
			}
			return bert.insideUntil(ctx, s.untilJoined(bertIn, carlIn))
		},
		func(ctx context.Context) error {
			if err := annaDone.wait(ctx); err != nil {
				return err
			}
			if err := carl.spin(ctx, carl.value(), s.t(retry)); err != nil {
				return err
			}
			carlIn.done()
			return carl.inside(ctx, s.t(2*work))
		},
	)
}

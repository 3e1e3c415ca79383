package main

import (
	"context"
	"fmt"
	"time"
)

var rung1 = rung{
	number: 1, slug: "never-expires",
	title: "SETNX, then EXPIRE, and a crash in between",
	mends: "a key in Redis, so that one process at a time goes on",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"SETNX lock 1", "EXPIRE lock 30"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   setNXThenExpire,
			judge:  judgeExpiry,
		},
		{
			who:    redlatch,
			code:   []string{"hold, err := lock.Acquire(ctx)   // one script: the owner and the lease"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   crashWithRedlatch,
			judge:  judgeExpiry,
		},
	},
}

// patience is how long bert tries before he gives up: more than two leases.
const patience = 2*lease + lease/3

func setNXThenExpire(ctx context.Context, s *stage) error {
	anna, bert, _, err := s.three(ctx)
	if err != nil {
		return err
	}
	s.begin(ctx)
	ok, err := anna.rdb.SetNX(ctx, s.key, "1", 0).Result()
	if err != nil || !ok {
		return fmt.Errorf("SETNX: %v, %w", ok, err)
	}
	anna.say("SETNX", "1", took)
	anna.crash() // EXPIRE is not sent any more

	for end := time.Now().Add(s.t(patience)); time.Now().Before(end); {
		if ok, err = bert.rdb.SetNX(ctx, s.key, "1", 0).Result(); err != nil {
			return err
		}
		if ok {
			bert.say("SETNX", "1", took)
			return bert.inside(ctx, s.t(work))
		}
		bert.say("SETNX", "0", try)
		if err := sleep(ctx, s.t(2*retry)); err != nil {
			return err
		}
	}
	ttl, err := bert.rdb.PTTL(ctx, s.key).Result()
	if err != nil {
		return err
	}
	bert.say("PTTL", fmt.Sprintf("%d, and he gives up", ttl), grave) // go-redis has -1 as it is
	return nil
}

func crashWithRedlatch(ctx context.Context, s *stage) error {
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
	if _, err := anna.acquire(ctx, hers.NewLock(s.key)); err != nil {
		return err
	}
	anna.crash()

	hold, err := bert.acquire(ctx, his.NewLock(s.key))
	if err != nil {
		return err
	}
	if err := bert.inside(hold.Context(), s.t(work)); err != nil {
		return err
	}
	return bert.release(ctx, hold)
}

// judgeExpiry asks whether the crashed process's lock went away.
func judgeExpiry(r *recording) verdict {
	crash := r.when("anna", "crashes")
	lives := r.tracks[0].lives()
	if len(lives) == 0 {
		return verdict{failure: "not seen", text: "the key was never seen"}
	}
	hers := lives[0]
	his, in := r.stay("bert")
	switch {
	case !hers.gone && hers.left() < 0:
		return verdict{neverExpires, fmt.Sprintf(
			"%s ms after the crash the key is still there, without a TTL. Nobody will ever get this lock again; bert asked %d times.",
			ms(r.length-crash), r.tries("bert"))}
	case !hers.gone || !in:
		return verdict{"still held", fmt.Sprintf("%s ms after the crash the key is still there.", ms(r.length-crash))}
	default:
		return verdict{text: fmt.Sprintf("The key was gone %s ms after the crash, and bert was inside at %s ms.",
			ms(hers.to-crash), ms(his.from))}
	}
}

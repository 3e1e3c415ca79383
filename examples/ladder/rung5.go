package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var rung5 = rung{
	number: 5, slug: "call-chain",
	title: "A lock that does not know its holder, in a call chain",
	mends: "a goroutine that renews the lease while the work runs",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"settle: lock; go renew(); book(order); unlock", "book:   lock; ...; unlock   // called by settle, which has the lock"},
			actors: []string{"settle", "book"},
			chain:  "anna",
			lease:  lease,
			play:   nestedLock,
			judge:  judgeNesting,
		},
		{
			who:    redlatch,
			code:   []string{"settle: lock.Lock(ctx); book(ctx); lock.Unlock(ctx)", "book:   lock.Lock(ctx); ...; lock.Unlock(ctx)   // the same owner enters"},
			actors: []string{"settle", "book"},
			chain:  "anna",
			lease:  lease,
			play:   nestedRedlatch,
			judge:  judgeNesting,
		},
	},
}

// callLimit is how long book waits before it gives up: more than the lease, which
// therefore cannot be what it waits for.
const callLimit = lease * 4 / 3

// as is the process under another name: that of the function it is in.
func (p *process) as(actor string) *process {
	alias := *p
	alias.name = actor
	return &alias
}

func nestedLock(ctx context.Context, s *stage) error {
	anna, err := s.process(ctx, "anna", s.home)
	if err != nil {
		return err
	}
	settle, book := anna.as("settle"), anna.as("book")
	outer, inner := settle.value(), book.value()
	s.begin(ctx)
	if err := settle.spin(ctx, outer, s.t(retry)); err != nil {
		return err
	}
	stop := settle.renewing(ctx, outer)
	defer stop()
	err = settle.insideUntil(ctx, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, s.t(callLimit))
		defer cancel()
		err := book.spin(limited, inner, s.t(2*retry))
		if err == nil {
			return book.inside(ctx, s.t(work))
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			book.say("gives up", "its limit of "+ms(s.t(callLimit))+" ms is over", grave)
			return nil
		}
		return err
	})
	stop() // before the lock is given back: a renewal must not find it gone
	if err != nil {
		return err
	}
	return settle.deleteIfMine(ctx, outer)
}

func nestedRedlatch(ctx context.Context, s *stage) error {
	anna, err := s.process(ctx, "anna", s.home)
	if err != nil {
		return err
	}
	client, err := anna.redlatch(ctx)
	if err != nil {
		return err
	}
	lock := client.NewLock(s.key)
	s.begin(ctx)
	// call is a function that takes the lock, calls the rest of the chain, and unlocks.
	var call func(ctx context.Context, chain ...string) error
	call = func(ctx context.Context, chain ...string) error {
		p := anna.as(chain[0])
		p.say("asks", "Lock", none)
		if err := lock.Lock(ctx); err != nil {
			return err
		}
		count := func(what string) error {
			n, err := lock.HoldCount(ctx)
			p.say(what, fmt.Sprintf("hold count %d", n), none)
			return err
		}
		if err := count("Lock"); err != nil {
			return err
		}
		err := p.insideUntil(ctx, func(ctx context.Context) error {
			if err := sleep(ctx, s.t(work/2)); err != nil || len(chain) == 1 {
				return err
			}
			if err := call(ctx, chain[1:]...); err != nil {
				return err
			}
			return sleep(ctx, s.t(work/2))
		})
		if err := errors.Join(err, lock.Unlock(ctx)); err != nil {
			return err
		}
		return count("Unlock")
	}
	return call(ctx, "settle", "book")
}

// judgeNesting asks whether the inner call came to its work.
func judgeNesting(r *recording) verdict {
	inner, in := r.stay("book")
	if !in {
		renewed, own := 0, true
		for _, l := range r.tracks[0].lives() {
			renewed += l.raised()
			own = own && r.ownerOf(l.holder) == "anna"
		}
		v := verdict{"not served", "book was never inside."}
		if own {
			v = verdict{deadlock, fmt.Sprintf(
				"book asked %d times in vain, and all the while the lock was anna's own, held by settle, which waits for book. It was renewed %d times: without book's limit, for ever.",
				r.tries("book"), renewed)}
		}
		return v
	}
	var counts []string
	for _, e := range r.events {
		if n, ok := strings.CutPrefix(e.came, "hold count "); ok {
			counts = append(counts, n)
		}
	}
	return verdict{text: fmt.Sprintf("book was inside %s ms after it had asked. Hold counts in Redis: %s.",
		ms(inner.from-r.when("book", "asks")), strings.Join(counts, ", "))}
}

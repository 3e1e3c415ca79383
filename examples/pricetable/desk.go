package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// desks is how many processes share the readers.
const desks = 2

var roles = map[string]demo.Role{"desk": desk, "job": job}

// tally is what readers have seen.
type tally struct {
	Whole  int    // tables of one edition
	Half   int    // half-written tables, which were refused
	Mixed  int    // half-written tables that looked whole
	Shared uint64 // reads that sent no command for the lock
}

func (t *tally) add(other tally) {
	t.Whole += other.Whole
	t.Half += other.Half
	t.Mixed += other.Mixed
	t.Shared += other.Shared
}

// desk is a process of readers. It tells the parent the ID of its Client, has them read until
// the parent says that it is enough, and reports what they have seen.
func desk(ctx context.Context, parent *demo.Parent) (err error) {
	var s setup
	if err := parent.Receive(ctx, &s); err != nil {
		return err
	}
	shop, err := newShop(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close(ctx)) }()
	if err := parent.Send(shop.client.ID()); err != nil {
		return err
	}

	seen := make([]tally, s.Readers)
	enough := make(chan struct{})
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer close(enough)
		var word string
		return parent.Receive(ctx, &word)
	})
	for i := range seen {
		all.Go(func() error { return shop.look(ctx, enough, &seen[i]) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	sum := tally{Shared: shop.client.Stats().Shared}
	for _, t := range seen {
		sum.add(t)
	}
	return parent.Send(sum)
}

// look is one reader: it looks at the table again and again.
func (s *shop) look(ctx context.Context, enough <-chan struct{}, seen *tally) error {
	for {
		prices, err := s.prices(ctx)
		switch {
		case errors.Is(err, errHalfWritten):
			seen.Half++
		case err != nil:
			return err
		case mixed(prices):
			seen.Mixed++
		default:
			seen.Whole++
		}
		select {
		case <-enough:
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// priceOf is the price of an item in an edition.
func priceOf(item, edition int) int { return 100*item + edition }

// mixed reports whether prices are not all of the edition that the table names.
func mixed(prices map[string]string) bool {
	number, err := strconv.Atoi(prices[edition])
	for item := range items {
		if prices[strconv.Itoa(item)] != strconv.Itoa(priceOf(item, number)) {
			return true
		}
	}
	return err != nil
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// order is what the parent tells the job: to make an edition, and perhaps to hang half-way.
type order struct {
	Edition int
	Hangs   bool
}

// news is what the job tells the parent: its Client's ID at the start, and later how long it
// waited for the lock, when half of the table is written and when all of it is.
type news struct {
	Client string
	Waited time.Duration
	Half   bool
}

// job is the process that rewrites the table when it is told to.
func job(ctx context.Context, parent *demo.Parent) (err error) {
	var s setup
	if err := parent.Receive(ctx, &s); err != nil {
		return err
	}
	shop, err := newShop(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close(ctx)) }()
	if err := parent.Send(news{Client: shop.client.ID()}); err != nil {
		return err
	}
	for {
		var o order
		if err := parent.Receive(ctx, &o); err != nil {
			return err
		}
		n, err := shop.make(ctx, o, parent)
		if err = errors.Join(err, parent.Send(n)); err != nil {
			return err
		}
	}
}

// make rewrites the table. Each price takes a moment.
func (s *shop) make(ctx context.Context, o order, parent *demo.Parent) (n news, err error) {
	start := time.Now()
	err = s.rewrite(ctx, o.Edition, func(ctx context.Context, item int) (int, error) {
		switch {
		case item == 0:
			n.Waited = time.Since(start)
		case item == items/2 && o.Hangs:
			n.Half = true
			if err := parent.Send(n); err != nil {
				return 0, err
			}
			<-ctx.Done() // the parent kills this process
			return 0, context.Cause(ctx)
		}
		return priceOf(item, o.Edition), demo.Sleep(ctx, time.Millisecond)
	})
	return n, err
}

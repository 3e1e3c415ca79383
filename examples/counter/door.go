package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// lease is how long the counter stays taken by a customer whose door was killed. A program
// would take 10 s or so: below a second a slow network is a dead process.
const lease = time.Second

var roles = map[string]demo.Role{"door": door}

// setup is what a door is told at its start.
type setup struct{ URL, Door, Counter, Book string }

// customer is one who comes in by the door, as the parent tells it.
type customer struct {
	Number int
	Stays  bool // for ever, at the counter
}

// door is one process. It tells the parent the ID of its Client, and then has a goroutine
// for each customer who comes in, until the parent wants it to end.
func door(ctx context.Context, parent *demo.Parent) (err error) {
	var s setup
	if err := parent.Receive(ctx, &s); err != nil {
		return err
	}
	opts, err := redis.ParseURL(s.URL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(lease))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(ctx))
	}()
	if err := parent.Send(client.ID()); err != nil {
		return err
	}

	d := &desk{counter: client.NewFairLock(s.Counter), rdb: rdb, setup: s}
	customers, ctx := errgroup.WithContext(ctx)
	for {
		var c customer
		if err := parent.Receive(ctx, &c); err != nil {
			return errors.Join(err, customers.Wait())
		}
		customers.Go(func() error { return d.attend(ctx, c) })
	}
}

// desk is the counter, as the customers of one door see it.
type desk struct {
	setup
	counter *reentrant.Lock
	rdb     *redis.Client
}

// attend waits until it is the customer's turn. The customer is entered in the book and then
// served. The lock guards the book: its order is that of the turns.
func (d *desk) attend(ctx context.Context, c customer) error {
	return d.counter.Do(ctx, func(ctx context.Context) error {
		if err := d.rdb.RPush(ctx, d.Book, fmt.Sprintf("%s %d", d.Door, c.Number)).Err(); err != nil {
			return err
		}
		if c.Stays {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return demo.Sleep(ctx, 20*time.Millisecond)
	})
}

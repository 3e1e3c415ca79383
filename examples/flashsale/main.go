// Flashsale sells a few items to a crowd that clicks twice, from several processes:
//
//	go run ./examples/flashsale
//
// It runs the same shop three times: without a lock, with a mutex in each process, and
// with a lock of Redlatch. One order a user and not one item too many is what should
// come of it, and what comes of it is counted afterwards, in what the shop has written.
//
// The processes are real: children of this program. The shop's data are on the same
// Redis as the lock, a miniredis inside the parent or the server of REDIS_URL, where no
// key is left behind.
//
// To copy: shop.go, how order, charge and reserve each take the lock that they need,
// whoever calls them, and pass on the ctx they are given.
//
// It does not promise what a lock cannot: a process that stops for longer than its lease
// may come back and write. Where an item too many is a disaster, let the database check
// as well (a unique index on user and sale, a stock that cannot go below zero), or the
// fencing token, as examples/slowcall does.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// config is what can be changed by flags.
type config struct {
	Items     int
	Users     int
	Processes int
	Workers   int // requests that a process serves at the same time
	Payment   time.Duration
}

func (c *config) flags(f *flag.FlagSet) {
	f.IntVar(&c.Items, "items", 100, "items in stock")
	f.IntVar(&c.Users, "users", 250, "users, each of whom clicks twice")
	f.IntVar(&c.Processes, "processes", 4, "processes of the shop")
	f.IntVar(&c.Workers, "workers", 4, "requests that a process serves at the same time")
	f.DurationVar(&c.Payment, "payment", 10*time.Millisecond, "how long a payment takes")
}

func (c *config) check() error {
	if c.Items < 1 || c.Users < 1 || c.Processes < 1 || c.Workers < 1 || c.Payment < 0 {
		return errors.New("flags: there must be at least one item, user, process and worker, and a payment cannot take less than no time")
	}
	return nil
}

func main() {
	demo.Child(roles)
	var c config
	c.flags(flag.CommandLine)
	flag.Parse()
	demo.Main("flashsale", func(ctx context.Context, out io.Writer, redisURL string) error {
		return run(ctx, out, redisURL, c)
	})
}

// run holds the sales, one for each way to lock. It fails if the shop with the lock of
// Redlatch sells anything wrong.
func run(ctx context.Context, out io.Writer, redisURL string, c config) error {
	if err := c.check(); err != nil {
		return err
	}
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()

	log := demo.NewLog(out)
	log.Printf("A flash sale on %s.", rdb)
	log.Printf("%d items, %d users who click twice, %d processes with %d requests at a time, a payment takes %v.",
		c.Items, c.Users, c.Processes, c.Workers, c.Payment)
	var results []result
	for _, way := range ways {
		r, err := hold(ctx, rdb, log, c, way)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	log.Printf("\n%s", table(results))
	conclude(log, c, results)
	log.End()
	return results[len(results)-1].check(c)
}

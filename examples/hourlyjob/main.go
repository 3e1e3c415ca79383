// Hourlyjob plays three nodes through four hours of a day, each of which takes a moment:
// the job of the hour succeeds, fails on one node, is killed in mid-run together with its
// node, and fails until nobody tries any more.
//
//	go run ./examples/hourlyjob
//
// The nodes are processes, children of this program. They share a miniredis inside the
// parent, or the server of REDIS_URL, where no key is left behind.
//
// To copy: package hourly beside this file, which says what it promises and what not. It
// needs no scheduler; examples/hourlyjob/cron calls it from one, in a module of its own.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

func main() {
	demo.Child(roles)
	demo.Main("hourlyjob", run)
}

// run plays the day. It fails if an hour comes out otherwise than it should.
func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	d := newDay(rdb, demo.NewLog(out))
	defer func() { err = errors.Join(err, d.end(ctx)) }()

	d.log.Printf("Three nodes and one job on %s.", rdb)
	d.log.Printf("The lease is %v, an hour is tried %d times at most.", lease, attempts)
	for name := range names {
		if err := d.start(ctx, names[name]); err != nil {
			return err
		}
	}
	for _, h := range hours {
		if err := d.play(ctx, h); err != nil {
			return err
		}
	}
	return d.summary(ctx)
}

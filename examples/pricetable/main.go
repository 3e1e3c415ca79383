// Pricetable has 1,000 goroutines read a price table that one job rewrites:
//
//	go run ./examples/pricetable
//
// The job writes the table line by line, as one does with a table that is too large for one
// command. The program plays that three times. Without a lock readers find the table half
// written, and have to refuse it. With a read-write lock they never do. At last the job is
// killed when half of the table is written: the readers wait until its lease ends, and then
// refuse the table until another job has written it again.
//
// The readers are in two processes and the job in a third, all of them children of this
// program. Redis is a miniredis inside the parent, or the server of REDIS_URL, where no key
// is left behind.
//
// To copy: table.go. Readers of one process share a lease, so that most reads send no
// command for the lock. A lock does not undo what a dead writer has half done: so the job
// takes the edition away first and writes it last, and readers refuse a table without one.
//
// It does not promise what a lock cannot: a job that stops for longer than its lease may come
// back and write one more line. Where that is a disaster, see examples/slowcall.
package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

func main() {
	demo.Child(roles)
	readers := flag.Int("readers", 1000, "goroutines that read the table")
	flag.Parse()
	demo.Main("pricetable", func(ctx context.Context, out io.Writer, redisURL string) error {
		return run(ctx, out, redisURL, *readers)
	})
}

// run plays the rounds. It fails if readers see what they must not see.
func run(ctx context.Context, out io.Writer, redisURL string, readers int) error {
	if readers < desks {
		return errors.New("flags: there must be a reader at least in each process")
	}
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()

	log := demo.NewLog(out)
	log.Printf("A table of %d prices on %s.", items, rdb)
	log.Printf("%d goroutines in %d processes read it, one job rewrites it %d times. The lease is %v.",
		readers, desks, editions, lease)
	var totals []total
	for _, way := range ways {
		t, err := play(ctx, rdb, log, way, readers/desks)
		if err != nil {
			return err
		}
		totals = append(totals, t)
	}
	log.Section("%s", summary(totals))
	log.End()
	return check(totals)
}

// Counter plays a queue at a counter: customers come in by three doors, and are served in
// the order in which they came, whatever door it was.
//
//	go run ./examples/counter
//
// The counter is a fair lock, and the doors are processes, children of this program. In the
// first scene all goes well. In the second one a door is killed while its customer is being
// served: the counter is free again when the lease ends, the other customers of that door
// are left out, and all others keep their places. Redis is a miniredis inside the parent, or
// the server of REDIS_URL, where no key is left behind.
//
// To copy: attend in door.go. A fair lock is used like any other.
//
// Fairness has its price: a turn goes to the next in line, also if that one is in another
// process and others would be quicker. docs/benchmarks.md says what it costs.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

func main() {
	demo.Child(roles)
	demo.Main("counter", run)
}

// run plays both scenes. It fails if a customer is served before one who came earlier.
func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	h, err := newHall(rdb, demo.NewLog(out))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.end(ctx)) }()

	h.log.Printf("A counter and three doors on %s.", rdb)
	h.log.Printf("The lease is %v. Customers come in turn by door-1, door-2 and door-3.", lease)
	for _, name := range names {
		if err := h.open(ctx, name); err != nil {
			return err
		}
	}
	for _, s := range scenes {
		if err := h.play(ctx, s); err != nil {
			return err
		}
	}
	h.log.End()
	return nil
}

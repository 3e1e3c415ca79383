// Slowcall shows what becomes of a lock when the work takes longer than the lease:
//
//		go run ./examples/slowcall
//
//	 1. With a fixed lease (LockLease) that is too short, two are at work at the same time.
//	 2. With renewal (Lock) the second waits until the first is done.
//	 3. A holder that is stopped cannot renew and cannot be told. When it goes on it writes,
//	    since it has checked a moment ago that the lock is its own. Only the resource can
//	    refuse that: it remembers the highest fencing token that it has seen.
//
// The holder of part 3 is a process of its own, stopped by SIGSTOP. Where there is no such
// signal it is a goroutine that stands still and whose connections are cut off, and the
// program says so. Redis is a miniredis inside this process, or the server of REDIS_URL,
// where no key is left behind.
//
// To copy: memory.Write in store.go, or the UPDATE that is beside it, and the way in which
// the token gets there in holder.go.
//
// The token does not make the lock safer, it makes the resource safe: one that cannot
// compare tokens (an e-mail, a payment at somebody else's) is not protected. See
// docs/guarantees.md for when tokens rise.
package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	// lease is short, so that it can be seen to end. The default is 30 s.
	lease = time.Second
	// call is how long the slow call takes.
	call = 1600 * time.Millisecond
)

func main() {
	demo.Child(roles)
	demo.Main("slowcall", run)
}

// scenario is anna and bert, two processes, and the order that both work on.
type scenario struct {
	rdb        *demo.Redis
	log        *demo.Log
	name       string // of the lock
	anna, bert *reentrant.Client
}

func run(ctx context.Context, out io.Writer, redisURL string) error {
	return play(ctx, out, redisURL, (*scenario).tooShort, (*scenario).renewed, (*scenario).paused)
}

// play plays some of the parts. It fails if one does not show what it is there to show.
func play(ctx context.Context, out io.Writer, redisURL string, parts ...func(*scenario, context.Context) error) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	s := &scenario{rdb: rdb, log: demo.NewLog(out), name: "order-" + uuid.NewString()[:8]}
	// No records: the scenario itself tells of the loss.
	var errs [2]error
	s.anna, errs[0] = reentrant.New(rdb.Client, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	s.bert, errs[1] = reentrant.New(rdb.Client, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, rdb.Leave(ctx, s.anna, s.name), rdb.Leave(ctx, s.bert, s.name))
	}()

	s.log.Printf("Redlatch on %s.", rdb)
	s.log.Printf("The lease is %v, the slow call takes %v.", lease, call)
	for _, part := range parts {
		if err := part(s, ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			return err
		}
	}
	s.log.End()
	return nil
}

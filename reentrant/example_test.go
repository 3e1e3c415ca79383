package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// exampleRedis is an embedded server, so that the examples run anywhere.
func exampleRedis() (rdb *redis.Client, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	server.ClockTTL(true) // keys expire as time passes, as in Redis
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return rdb, func() {
		rdb.Close()
		server.Close()
	}
}

// A lock, taken and released by the calling goroutine.
func Example() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()

	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	lock := client.NewLock("order:42")
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("settling the order")
	if err := lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: settling the order
}

// A locks and calls B, which locks the same name again.
func ExampleLock_Lock_nested() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("order:42")

	charge := func() error {
		if err := lock.Lock(ctx); err != nil { // held already: enters again
			return err
		}
		defer lock.Unlock(ctx)
		count, err := lock.HoldCount(ctx)
		fmt.Println("charging, held", count, "times")
		return err
	}
	settle := func() error {
		if err := lock.Lock(ctx); err != nil {
			return err
		}
		defer lock.Unlock(ctx)
		return charge()
	}
	if err := settle(); err != nil {
		log.Fatal(err)
	}
	locked, err := lock.IsLocked(ctx)
	fmt.Println("still locked:", locked, err)
	// Output:
	// charging, held 2 times
	// still locked: false <nil>
}

// A handler that may wait so long and then says that it is busy.
func ExampleLock_TryLock() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("order:42")

	somebody := reentrant.WithOwner(ctx, "somebody else")
	if err := lock.Lock(somebody); err != nil {
		log.Fatal(err)
	}
	ok, err := lock.TryLock(ctx, 50*time.Millisecond, 0)
	fmt.Println("acquired:", ok, err)

	if err := lock.Unlock(somebody); err != nil {
		log.Fatal(err)
	}
	ok, err = lock.TryLock(ctx, 50*time.Millisecond, 0)
	fmt.Println("acquired:", ok, err)
	if err := lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// acquired: false <nil>
	// acquired: true <nil>
}

// Do runs a function under the lock. The function's ctx ends if the lock is lost,
// and re-enters wherever it is passed on to.
func ExampleLock_Do() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("job:15:00")

	err = lock.Do(ctx, func(ctx context.Context) error {
		done := make(chan error)
		go func() { // another goroutine, the same owner
			done <- lock.Do(ctx, func(context.Context) error {
				fmt.Println("running the job")
				return nil
			})
		}()
		return <-done
	})
	fmt.Println(err)
	// Output:
	// running the job
	// <nil>
}

// The hold as a value, with a limit on the wait. It is released on any goroutine.
func ExampleLock_Acquire() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	hold, err := client.NewLock("order:42").Acquire(ctx, reentrant.WithWait(2*time.Second))
	if err != nil {
		log.Fatal(err) // ErrNotAcquired: this call has locked nothing
	}
	work := func(ctx context.Context) error { // ctx ends if the lock is lost
		fmt.Println("settling the order")
		return ctx.Err()
	}
	workErr := work(hold.Context())
	fmt.Println(errors.Join(workErr, hold.Release(ctx)))
	// Output:
	// settling the order
	// <nil>
}

// A hold's ctx makes one owner for every lock. Goroutines that share it, and are to exclude
// each other, need an owner each.
func ExampleWithOwner() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	stock := client.NewLock("stock")

	err = client.NewLock("batch").Do(ctx, func(ctx context.Context) error {
		left := 10
		errs := make(chan error)
		for worker := range 5 {
			// With ctx as it is all five would be in stock at once.
			ctx := reentrant.WithOwner(ctx, fmt.Sprintf("worker %d", worker))
			go func() {
				errs <- stock.Do(ctx, func(context.Context) error {
					left -= 2
					return nil
				})
			}()
		}
		var err error
		for range 5 {
			err = errors.Join(err, <-errs)
		}
		fmt.Println("left:", left)
		return err
	})
	fmt.Println(err)
	// Output:
	// left: 0
	// <nil>
}

// The hold as a value: it says when it is lost, and why.
func ExampleHold_Context() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	hold, err := client.NewLock("order:42").Acquire(ctx, reentrant.WithFixedLease(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-hold.Context().Done() // work that outlasts its lease
	fmt.Println("lost:", errors.Is(context.Cause(hold.Context()), reentrant.ErrLost))
	fmt.Println("release says so too:", errors.Is(hold.Release(ctx), reentrant.ErrLost))
	// Output:
	// lost: true
	// release says so too: true
}

// A fencing token lets the resource refuse a holder that was stopped and came back
// after its lease.
func ExampleWithFencing() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("order:42", reentrant.WithFencing())

	var highest int64 // the resource remembers the highest token that it has seen
	write := func(token int64) string {
		if token < highest {
			return "refused"
		}
		highest = token
		return "accepted"
	}

	first, err := lock.Acquire(ctx, reentrant.WithFixedLease(20*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-first.Lost() // stopped for longer than its lease

	second, err := lock.Acquire(reentrant.WithOwner(ctx, "next"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("second holder:", write(second.Token()))
	fmt.Println("first holder:", write(first.Token()))
	if err := second.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// second holder: accepted
	// first holder: refused
}

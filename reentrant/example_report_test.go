package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redlatch/redlatch/reentrant"
)

// Figures for a metrics system. Held and Waiting are those of now, the counters only grow.
func ExampleClient_Stats() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = client.NewLock("order:42").Do(ctx, func(context.Context) error {
		stats := client.Stats()
		fmt.Println("held:", stats.Held, "waiting:", stats.Waiting)
		fmt.Println("acquired:", stats.Acquired, "losses:", stats.Losses)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// held: 1 waiting: 0
	// acquired: 1 losses: 0
}

// What happens to the locks of a Client, one by one.
func ExampleWithEvents() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb, reentrant.WithEvents(reentrant.Events{
		Acquired:  func(e reentrant.Event) { fmt.Println("acquired", e.Name) },
		Reentered: func(e reentrant.Event) { fmt.Println("entered again, holds:", e.Count) },
		Released:  func(e reentrant.Event) { fmt.Println("released", e.Name) },
		Lost:      func(e reentrant.Event) { fmt.Println("lost:", e.Err) },
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("order:42")

	err = lock.Do(ctx, func(ctx context.Context) error {
		return lock.Do(ctx, func(context.Context) error { return nil })
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// acquired order:42
	// entered again, holds: 2
	// released order:42
}

// Who has the lock, and for how long at the most unless it is renewed.
func ExampleNotAcquiredError() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	ours, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer ours.Close(ctx)
	theirs, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer theirs.Close(ctx)

	hold, err := theirs.NewLock("order:42").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = ours.NewLock("order:42").Acquire(ctx, reentrant.WithWait(0))
	var busy *reentrant.NotAcquiredError
	if errors.As(err, &busy) {
		fmt.Println("held by the other:", busy.Holder == hold.Owner())
		fmt.Println("time left:", busy.TTL > 0)
		fmt.Println("why, but for being busy:", busy.Err)
	}
	if err := hold.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// held by the other: true
	// time left: true
	// why, but for being busy: <nil>
}

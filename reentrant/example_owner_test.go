package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Work that changes goroutine, under an owner that nobody else has.
func ExampleWithNewOwner() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())
	lock := client.NewLock("order:42")

	ctx := reentrant.WithNewOwner(context.Background())
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- lock.Unlock(ctx) }()
	fmt.Println("unlocked on another goroutine:", <-done)

	// Output: unlocked on another goroutine: <nil>
}

// Do with a limit on the wait.
func ExampleLock_With() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("order:42")
	patient := lock.With(reentrant.WithWait(20 * time.Millisecond))
	settle := func(context.Context) error {
		fmt.Println("settled")
		return nil
	}

	fmt.Println(patient.Do(ctx, settle))

	other, err := lock.Acquire(reentrant.WithNewOwner(ctx))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("not acquired:", errors.Is(patient.Do(ctx, settle), reentrant.ErrNotAcquired))
	if err := other.Release(ctx); err != nil {
		log.Fatal(err)
	}

	// Output:
	// settled
	// <nil>
	// not acquired: true
}

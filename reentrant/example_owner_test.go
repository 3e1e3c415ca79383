package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
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

// An Unlock by another owner than the one that locked.
func ExampleNotHeldError() {
	rdb, stop := exampleRedis()
	defer stop()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())
	lock := client.NewLock("order:42")
	locked := reentrant.WithOwner(context.Background(), "request-7")
	if err := lock.Lock(locked); err != nil {
		log.Fatal(err)
	}

	err = lock.Unlock(reentrant.WithOwner(context.Background(), "request-8"))
	if why := new(reentrant.NotHeldError); errors.As(err, &why) {
		_, owner, _ := strings.Cut(why.Owner, ":") // after the Client's ID
		_, holder, _ := strings.Cut(why.Holder, ":")
		fmt.Println(why.Name, "is held by", holder, "and not by", owner)
	}
	if err := lock.Unlock(locked); err != nil {
		log.Fatal(err)
	}

	// Output: order:42 is held by request-7 and not by request-8
}

// Code that works under any lock: a Lock, one with other defaults, or a MultiLock of package multilock.
func ExampleDoer() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	report := func(lock reentrant.Doer) error {
		return lock.Do(ctx, func(context.Context) error {
			fmt.Println("reported")
			return nil
		})
	}
	lock := client.NewLock("report")
	fmt.Println(report(lock))
	fmt.Println(report(lock.With(reentrant.WithFixedLease(time.Minute))))

	// Output:
	// reported
	// <nil>
	// reported
	// <nil>
}

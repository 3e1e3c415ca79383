package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A job that somebody else does already is left to them. An outage is not that.
func ExampleErrBusy() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	lock := client.NewLock("report")

	other, err := lock.Acquire(reentrant.WithOwner(ctx, "other"))
	if err != nil {
		log.Fatal(err)
	}
	defer other.Release(ctx)

	report := func(context.Context) error { return nil }
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	switch err := lock.Do(ctx, report); {
	case err == nil:
		fmt.Println("reported")
	case errors.Is(err, reentrant.ErrBusy):
		fmt.Println("somebody else is at it")
	default:
		fmt.Println("not reported:", err)
	}
	// Output: somebody else is at it
}

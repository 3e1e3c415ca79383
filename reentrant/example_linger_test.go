package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A job that several machines start, at times which their clocks do not agree on: it is done once in 10 minutes.
func ExampleHold_ReleaseAfter() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	nightly := func(machine string) error {
		hold, err := client.NewLock("nightly").Acquire(reentrant.WithOwner(ctx, machine), reentrant.WithWait(0))
		if errors.Is(err, reentrant.ErrBusy) {
			fmt.Println(machine, "leaves it to another")
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Println(machine, "does the job")
		return hold.ReleaseAfter(ctx, 10*time.Minute)
	}
	for _, machine := range []string{"web-1", "web-2", "web-1"} {
		if err := nightly(machine); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// web-1 does the job
	// web-2 leaves it to another
	// web-1 leaves it to another
}

// A fixed lease that is made longer as the work goes on: if the work stops, so does the lock.
func ExampleHold_Extend() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	hold, err := client.NewLock("import").Acquire(ctx, reentrant.WithFixedLease(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for part := range 3 {
		if err := hold.Extend(hold.Context(), time.Minute); err != nil {
			log.Fatal(err) // do not go on without the lock
		}
		fmt.Println("import part", part)
	}
	if err := hold.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// import part 0
	// import part 1
	// import part 2
}

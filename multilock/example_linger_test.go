package multilock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Two accounts that are not to be touched again for a while.
func ExampleHold_ReleaseAfter() {
	_, clients, stop := exampleServers(1)
	defer stop()
	ctx := context.Background()
	client := clients[0]
	both, err := multilock.New(client.NewLock("account:1"), client.NewLock("account:2"))
	if err != nil {
		log.Fatal(err)
	}

	hold, err := both.Acquire(ctx, reentrant.WithFixedLease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if err := hold.Extend(ctx, time.Minute); err != nil { // it takes longer than was thought
		log.Fatal(err)
	}
	if err := hold.ReleaseAfter(ctx, time.Hour); err != nil {
		log.Fatal(err)
	}
	again, err := client.NewLock("account:2").TryLock(ctx, 0, 0)
	fmt.Println(again, err)
	info, err := client.Inspect(ctx, "account:2")
	fmt.Println(info.Kept, info.TTL > 59*time.Minute, err)
	// Output:
	// false <nil>
	// true true <nil>
}

package reentrant_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// All locks that are held below a name: what they are, who has them, who waits.
func ExampleClient_Locks() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	prices := client.NewReadWriteLock("shop:prices")
	for _, till := range []string{"till-1", "till-2"} {
		reader := reentrant.WithOwner(ctx, till)
		if err := prices.RLock(reader); err != nil {
			log.Fatal(err)
		}
		defer prices.RUnlock(reader)
	}

	for name, err := range client.Locks(ctx, "shop:*") {
		if err != nil {
			log.Fatal(err)
		}
		info, err := client.Inspect(ctx, name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s lock, held to %s, seen %t\n", name, info.Kind, info.Mode, time.Since(info.At) < time.Minute)
		for _, holder := range append([]reentrant.Party{info.Holder}, info.Others...) {
			_ = holder.String() // the Client, by its name or its ID
		}
		for _, w := range info.Waiters {
			fmt.Printf("%v waits since %v\n", w.Party, w.Since)
		}
	}
	// Output: shop:prices: read-write lock, held to read, seen true
}

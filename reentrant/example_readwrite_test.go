package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redlatch/redlatch/reentrant"
)

// A cache that many read, and one fills. Who has filled it goes on reading without a gap.
func ExampleClient_NewReadWriteLock() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	client, err := reentrant.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	cache := client.NewReadWriteLock("cache")
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	filler, reader := reentrant.WithOwner(ctx, "filler"), reentrant.WithOwner(ctx, "reader")
	must(cache.Lock(filler))
	fmt.Println("filled by one")
	must(cache.RLock(filler))
	must(cache.Unlock(filler))
	must(cache.RLock(reader))
	fmt.Println("read by two")
	if err := cache.Lock(filler); errors.Is(err, reentrant.ErrUpgrade) {
		fmt.Println("not filled by one that reads")
	}
	must(cache.RUnlock(filler))
	must(cache.RUnlock(reader))
	// Output:
	// filled by one
	// read by two
	// not filled by one that reads
}

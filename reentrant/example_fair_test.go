package reentrant_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"sync"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A queue at a counter: who came first is served first, whatever process it came to.
func ExampleClient_NewFairLock() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	var doors []*reentrant.Lock // three Clients, as in three processes
	for range 3 {
		client, err := reentrant.New(rdb)
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close(ctx)
		doors = append(doors, client.NewFairLock("counter"))
	}

	clerk := reentrant.WithOwner(ctx, "clerk")
	if err := doors[2].Lock(clerk); err != nil { // not open yet
		log.Fatal(err)
	}
	var customers sync.WaitGroup
	for n := range 4 {
		customers.Go(func() {
			err := doors[n%2].Do(reentrant.WithOwner(ctx, strconv.Itoa(n)), func(context.Context) error {
				fmt.Println("customer", n)
				return nil
			})
			if err != nil {
				log.Print(err)
			}
		})
		for customersInLine(ctx, doors[2]) <= n { // the next one comes later
			time.Sleep(time.Millisecond)
		}
	}
	if err := doors[2].Unlock(clerk); err != nil {
		log.Fatal(err)
	}
	customers.Wait()
	// Output:
	// customer 0
	// customer 1
	// customer 2
	// customer 3
}

// customersInLine is how many wait in other Clients. Redis knows of them.
func customersInLine(ctx context.Context, lock *reentrant.Lock) int {
	info, err := lock.Info(ctx)
	if err != nil {
		log.Fatal(err)
	}
	return len(info.Waiters)
}

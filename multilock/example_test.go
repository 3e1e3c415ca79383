package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// exampleServers are embedded, so that the examples run anywhere. There is one Client
// for each.
func exampleServers(n int) (servers []*miniredis.Miniredis, clients []*reentrant.Client, stop func()) {
	var rdbs []*redis.Client
	for range n {
		server, err := miniredis.Run()
		if err != nil {
			log.Fatal(err)
		}
		server.ClockTTL(true) // keys expire as time passes, as in Redis
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		client, err := reentrant.New(rdb, reentrant.WithLease(2*time.Second))
		if err != nil {
			log.Fatal(err)
		}
		servers, rdbs, clients = append(servers, server), append(rdbs, rdb), append(clients, client)
	}
	return servers, clients, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for i := range servers {
			if err := clients[i].Close(ctx); err != nil {
				log.Print(err)
			}
			rdbs[i].Close()
			servers[i].Close()
		}
	}
}

// Two accounts on one server: both are locked, or none.
func ExampleNew() {
	_, clients, stop := exampleServers(1)
	defer stop()
	ctx := context.Background()

	from, to := clients[0].NewLock("account:1"), clients[0].NewLock("account:2")
	both, err := multilock.New(from, to)
	if err != nil {
		log.Fatal(err)
	}
	err = both.Do(ctx, func(ctx context.Context) error {
		fmt.Println("moving money, with", both.Name())
		return from.Do(ctx, func(context.Context) error { // a member: enters again
			fmt.Println("booking")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// moving money, with account:1+account:2
	// booking
	// <nil>
}

// A lock on five servers, of which two go away.
func ExampleNewQuorumWith() {
	servers, clients, stop := exampleServers(5)
	defer stop()
	ctx := context.Background()

	var locks []multilock.Locker
	for _, client := range clients {
		locks = append(locks, client.NewLock("payment:42"))
	}
	// These servers are a moment old, and nobody can hold a lock on them. In operation
	// this is multilock.NewQuorum(locks...).
	lock, err := multilock.NewQuorumWith(locks, multilock.WithoutQuarantine())
	if err != nil {
		log.Fatal(err)
	}
	hold, err := lock.Acquire(ctx, reentrant.WithWait(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	servers[0].SetError("ERR down")
	servers[3].SetError("ERR down")

	select {
	case <-hold.Lost():
		fmt.Println("lost")
	case <-time.After(3 * time.Second): // more than a lease
		fmt.Println("held, ctx:", hold.Context().Err())
	}
	for i, m := range hold.Members() {
		fmt.Println("server", i+1, m.Held)
	}
	fmt.Println(hold.Release(ctx))
	// Output:
	// held, ctx: <nil>
	// server 1 false
	// server 2 true
	// server 3 true
	// server 4 false
	// server 5 true
	// <nil>
}

// What an error tells: which servers, and why.
func ExampleNotAcquiredError() {
	servers, clients, stop := exampleServers(3)
	defer stop()
	all, err := multilock.New(clients[0].NewLock("a"), clients[1].NewLock("a"), clients[2].NewLock("a"))
	if err != nil {
		log.Fatal(err)
	}
	servers[1].SetError("ERR down")
	err = all.Lock(context.Background())
	fmt.Println(errors.Is(err, reentrant.ErrNotAcquired))
	var failed *multilock.NotAcquiredError
	if errors.As(err, &failed) {
		fmt.Println(failed.Held, "of", failed.Of, "held")
		for _, member := range failed.Members {
			fmt.Println("it is the second:", member.Server == servers[1].Addr())
		}
	}
	// Output:
	// true
	// 2 of 3 held
	// it is the second: true
}

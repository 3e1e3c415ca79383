package leader_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/reentrant"
)

// Every process of a service runs this. One of them schedules, and another one goes on when it dies.
func ExampleRun() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	client, err := reentrant.New(rdb)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	ctx, cancel := context.WithCancel(context.Background()) // in a program: signal.NotifyContext
	defer cancel()
	err = leader.Run(ctx, client.NewLock("scheduler"), func(ctx context.Context) error {
		fmt.Println("this process schedules")
		cancel() // the program is told to end
		<-ctx.Done()
		fmt.Println("no more")
		return nil
	})
	fmt.Println(err)
	// Output:
	// this process schedules
	// no more
	// <nil>
}

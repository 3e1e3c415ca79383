package redlatchcron_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"

	redlatchcron "github.com/redlatch/redlatch/adapters/cron"
	"github.com/redlatch/redlatch/reentrant"
)

// Every machine runs this; each tick of the job runs on one of them.
func Example() {
	server, err := miniredis.Run() // in a program: its Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // in a program: by signal.NotifyContext
	defer stop()

	report := redlatchcron.JobFunc(func(ctx context.Context) { // ctx ends if the lock is lost
		fmt.Println("writing the report:", ctx.Err())
	})
	// Five seconds: more than the clocks differ, less than the hour between two ticks.
	wrapper := redlatchcron.Exclusive(ctx, client.NewLock("cron:report"), 5*time.Second, cron.DefaultLogger)
	job := cron.NewChain(cron.Recover(cron.DefaultLogger), wrapper).Then(report)
	scheduler := cron.New()
	if _, err := scheduler.AddJob("0 * * * *", job); err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	job.Run() // the example does not wait for the full hour

	// The scheduler first: its jobs need the Client.
	<-scheduler.Stop().Done()
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(limit); err != nil {
		log.Fatal(err)
	}
	// Output: writing the report: <nil>
}

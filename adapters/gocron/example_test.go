package redlatchgocron_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	redlatchgocron "github.com/redlatch/redlatch/adapters/gocron"
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

	// Five seconds: more than the clocks differ, less than the hour between two ticks.
	locker := redlatchgocron.NewLocker(client, 5*time.Second)
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	report := func() {
		ctx := locker.Context("report") // ends if the lock is lost
		fmt.Println("writing the report:", ctx.Err())
		close(done)
	}
	job, err := scheduler.NewJob(gocron.CronJob("0 * * * *", false), gocron.NewTask(report), gocron.WithName("report"))
	if err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	if err := job.RunNow(); err != nil { // the example does not wait for the full hour
		log.Fatal(err)
	}
	<-done

	// The scheduler first: its jobs need the Client.
	if err := scheduler.Shutdown(); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: writing the report: <nil>
}

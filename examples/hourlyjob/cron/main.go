// Cron runs package hourly from a scheduler, robfig/cron, on two nodes:
//
//	go run -C examples/hourlyjob/cron .
//
// It is a module of its own, so that the scheduler does not get into the go.sum of those
// who use Redlatch. The two nodes are two Clients and two schedulers in this process, on a
// miniredis or on the server of REDIS_URL; a second is an hour, and after three it ends.
//
// To copy: ticker, which is a cron.Job, and the three lines of newNode that schedule it
// ("0 * * * *" in a program, and WithLocation(time.UTC) if the time of day matters). A
// scheduler that locks each tick for itself is not needed, nor an elector: every node may
// tick, and Redis says who works.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// ticker runs the job of the hour at each tick of a scheduler.
type ticker struct {
	ctx  context.Context // ends with the program
	job  *hourly.Job
	now  func() time.Time // time.Now, but in an example
	tell func(hour time.Time, outcome hourly.Outcome, err error)
}

// Run implements cron.Job. The limit makes an end of it before the next hour, and thus of
// the tries while Redis is down.
func (t ticker) Run() {
	ctx, cancel := context.WithTimeout(t.ctx, 55*time.Minute)
	defer cancel()
	hour := hourly.Of(t.now())
	outcome, err := t.job.Run(ctx, hour)
	t.tell(hour, outcome, err)
}

func main() { demo.Main("cron", run) }

// lease is how long the other node waits for one that has died.
const lease = 10 * time.Second

// hours is how many hours the example takes.
const hours = 3

func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	log := demo.NewLog(out)
	log.Printf("Two nodes, each with a scheduler, on %s.\nA second is an hour.\n", rdb)

	e := &example{rdb: rdb, log: log, name: "report-" + uuid.NewString()[:8], start: time.Now().Truncate(time.Second)}
	e.events = make(chan event)
	defer func() { err = errors.Join(err, e.cleanUp(ctx)) }()
	work, stop := context.WithCancel(ctx)
	var ends []func()
	defer func() {
		stop() // a tick that nobody hears must not wait
		for _, end := range ends {
			end()
		}
	}()
	for _, name := range []string{"node-1", "node-2"} {
		end, err := e.newNode(work, name)
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	if err := e.follow(ctx); err != nil {
		return err
	}
	log.End()
	return nil
}

// newNode starts the scheduler of a node. It returns what ends it and waits for its jobs.
func (e *example) newNode(ctx context.Context, name string) (end func(), err error) {
	client, err := reentrant.New(e.rdb.Client, reentrant.WithLease(lease))
	if err != nil {
		return nil, err
	}
	e.clients = append(e.clients, client)
	job := &hourly.Job{Name: e.name, Work: e.work, Locks: client, Redis: e.rdb.Client}
	tell := func(hour time.Time, outcome hourly.Outcome, err error) {
		select {
		case e.events <- event{name, hour, outcome, err}:
		case <-ctx.Done():
		}
	}

	scheduler := cron.New()
	if _, err := scheduler.AddJob("@every 1s", ticker{ctx, job, e.now, tell}); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	scheduler.Start()
	return func() { <-scheduler.Stop().Done() }, nil
}

// Asynqscheduler runs the Scheduler of hibiken/asynq on three nodes, of which one leads:
//
//	go run -C examples/asynqscheduler .
//
// It is a module of its own, so that asynq does not get into the go.sum of those who use Redlatch. The three nodes are in this
// process, on a miniredis or on the server of REDIS_URL. The leader enqueues a task every second. After three tasks it ends, another
// one goes on, and after six tasks the example ends.
//
// To copy: schedule, in schedule.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

func main() { demo.Main("asynqscheduler", run) }

// lease is for how long the others wait for a leader that has died.
const lease = 10 * time.Second

// perLeader is how many tasks a leader enqueues before it ends. There are two.
const perLeader = 3

// enqueued is a task that a node enqueues, or why it could not.
type enqueued struct {
	node int
	at   time.Time
	err  error
}

// example is three nodes.
type example struct {
	rdb     *demo.Redis
	name    string // of the queue, and part of the lock's
	events  chan enqueued
	clients [3]*reentrant.Client
	stops   [3]context.CancelFunc
	nodes   sync.WaitGroup
	ended   chan error // capacity 3
}

func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	log := demo.NewLog(out)
	log.Printf("Three nodes, each with a scheduler, on %s.\nOne leads, and enqueues a task every second.\n", rdb)

	e := &example{rdb: rdb, name: "example-" + uuid.NewString()[:8], events: make(chan enqueued), ended: make(chan error, 3)}
	for n := range e.clients {
		if e.clients[n], err = reentrant.New(rdb.Client, reentrant.WithLease(lease)); err != nil {
			return err
		}
	}
	for n := range e.clients {
		node, stop := context.WithCancel(ctx)
		e.stops[n] = stop
		e.nodes.Go(func() { e.ended <- e.node(node, n) })
	}
	defer func() { err = errors.Join(err, e.end(ctx)) }()
	if err := e.follow(ctx, log); err != nil {
		return err
	}
	log.End()
	return nil
}

// end ends the nodes, and removes what the example has left in Redis. A program leaves the queue to its workers.
func (e *example) end(ctx context.Context) error {
	for _, stop := range e.stops {
		stop()
	}
	e.nodes.Wait()
	var errs []error
	for _, client := range e.clients {
		errs = append(errs, <-e.ended, e.rdb.Leave(ctx, client, e.lock()))
	}
	err := asynq.NewInspectorFromRedisClient(e.rdb.Client).DeleteQueue(e.name, true)
	if !errors.Is(err, asynq.ErrQueueNotFound) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// node is a process in a program.
func (e *example) node(ctx context.Context, n int) error {
	tell := func(err error) {
		select {
		case e.events <- enqueued{n, time.Now(), err}:
		case <-ctx.Done():
		}
	}
	opts := &asynq.SchedulerOpts{
		LogLevel:       asynq.ErrorLevel,
		PreEnqueueFunc: func(*asynq.Task, []asynq.Option) { tell(nil) }, // at the tick: the answer of Redis may come a second later
		PostEnqueueFunc: func(_ *asynq.TaskInfo, err error) {
			if err != nil {
				tell(err)
			}
		},
	}
	o := e.rdb.Options()
	redis := asynq.RedisClientOpt{Addr: o.Addr, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig}
	report := periodic{"@every 1s", asynq.NewTask("report", nil), []asynq.Option{asynq.Queue(e.name)}}
	err := schedule(ctx, e.clients[n].NewLock(e.lock()), redis, opts, report)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // it did not lead
	}
	return err
}

func (e *example) lock() string { return "asynq-scheduler-" + e.name }

// follow tells what is enqueued. It ends a leader after three tasks, and returns after two leaders. It fails if two tasks come in
// a second, or two nodes at once.
func (e *example) follow(ctx context.Context, log *demo.Log) error {
	const early = 50 * time.Millisecond // a tick may come that long before its second
	leader, tasks, second := -1, 0, int64(0)
	for leaders := 0; leaders < 2; {
		var v enqueued
		select {
		case v = <-e.events:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch now := v.at.Add(early).Unix(); {
		case v.err != nil:
			return v.err
		case now == second:
			return errors.New("two tasks in one second")
		case tasks > 0 && v.node != leader:
			return fmt.Errorf("node %d enqueues while node %d leads", v.node+1, leader+1)
		default:
			leader, second = v.node, now
		}
		log.Line(fmt.Sprintf("node-%d", v.node+1), "enqueues", "the report of %s", v.at.Format("15:04:05"))
		if tasks++; tasks == perLeader {
			e.stops[leader]()
			leaders, tasks = leaders+1, 0
		}
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { nodes.Main(m, node) }

// node is a process of its own, which tells each task that it enqueues. It tells so at the tick, not after the answer of Redis,
// which may come a second later.
func node(ctx context.Context, s nodes.Spec, client *reentrant.Client, job func()) error {
	opts := &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel, PreEnqueueFunc: func(*asynq.Task, []asynq.Option) { job() }}
	err := schedule(ctx, client.NewLock("scheduler"), asynq.RedisClientOpt{Addr: s.Redis}, opts,
		periodic{"@every 1s", asynq.NewTask("report", nil), nil})
	if errors.Is(err, context.Canceled) {
		return nil // it did not lead
	}
	return err
}

const testLease = 2 * time.Second

// A task of every second is enqueued at most once a second, by three processes.
func TestEverySecond(t *testing.T) {
	t.Parallel()
	nodes.EverySecond(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: testLease}, 5)
}

// The leader is killed, and another node goes on when its lease is over. It enqueues no task of a second that has one.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	nodes.GoesOn(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: testLease})
}

// What the README says of asynq.Unique: Redis refuses the same task while the first one waits.
func TestUnique(t *testing.T) {
	t.Parallel()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: redistest.Start(t).Addr()})
	defer client.Close()
	for _, want := range []error{nil, asynq.ErrDuplicateTask} {
		if _, err := client.Enqueue(asynq.NewTask("report", nil), asynq.Unique(time.Hour)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

var told = []string{
	`node-\d +enqueues +the report`, `node-\d +enqueues +the report`, `node-\d +enqueues +the report`,
	`node-\d +enqueues +the report`, `node-\d +enqueues +the report`, `node-\d +enqueues +the report`,
	`Done in \d+\.\d s\.`,
}

func TestProgram(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, url := range []string{"", "redis://" + server.Addr()} {
		var out bytes.Buffer
		if err := run(t.Context(), &out, url); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		demotest.Told(t, out.String(), told...)
	}
	demotest.LeavesNothing(t, server)
}

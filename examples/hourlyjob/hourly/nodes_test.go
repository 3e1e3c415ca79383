package hourly_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	lease       = 3 * time.Second
	lockKey     = "hourly:{report}:lock"
	doneKey     = "hourly:{report}:2026-11-21T15:done"
	attemptsKey = "hourly:{report}:2026-11-21T15:attempts"
)

var three = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)

// nodes are several nodes on one miniredis, each with a redis client that can fail.
type nodes struct {
	mini    *miniredis.Miniredis
	rdbs    []*redis.Client
	clients []*reentrant.Client
	faults  []*fault

	onRelease func()
	releases  atomic.Int64
}

func newNodes(t *testing.T, count int) *nodes {
	t.Helper()
	n := &nodes{}
	n.mini, _ = redistest.Mini(t)
	for range count {
		rdb := redistest.MiniClient(t, n.mini, func(o *redis.Options) { o.MaxRetries = -1 })
		f := &fault{nodes: n}
		rdb.AddHook(f)
		client, err := reentrant.New(rdb, reentrant.WithLease(lease))
		if err != nil {
			t.Fatal(err)
		}
		n.rdbs, n.clients, n.faults = append(n.rdbs, rdb), append(n.clients, client), append(n.faults, f)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*lease)
			defer cancel()
			if err := client.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return n
}

func (n *nodes) job(node int, work func(context.Context, hourly.Attempt) error) *hourly.Job {
	return &hourly.Job{Name: "report", Work: work, Locks: n.clients[node], Redis: n.rdbs[node]}
}

func (n *nodes) wantHash(t *testing.T, held bool) {
	t.Helper()
	if n.mini.Exists(lockKey) != held {
		t.Errorf("the lock is held: %v, want %v", !held, held)
	}
}

// fault is a hook that makes commands fail, and sees locks being released.
type fault struct {
	nodes *nodes
	down  atomic.Bool
	fails atomic.Pointer[string] // commands of that name fail, alone or in a pipeline
	loses atomic.Pointer[string] // so does the next one of that name, after it has run
}

// loseReply loses the reply to the next command of that name.
func (f *fault) loseReply(name string) { f.loses.Store(&name) }

var errDown = errors.New("connection refused")

func (f *fault) check(cmds ...redis.Cmder) error {
	name := f.fails.Load()
	for _, cmd := range cmds {
		if f.down.Load() || name != nil && strings.EqualFold(cmd.Name(), *name) {
			return errDown
		}
	}
	return nil
}

func (f *fault) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (f *fault) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.check(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		held := f.nodes.mini.Exists(lockKey)
		err := next(ctx, cmd)
		if held && !f.nodes.mini.Exists(lockKey) {
			f.nodes.releases.Add(1)
			if f.nodes.onRelease != nil {
				f.nodes.onRelease()
			}
		}
		return err
	}
}

func (f *fault) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := f.check(cmds...); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if name := f.loses.Load(); name != nil && strings.EqualFold(cmd.Name(), *name) {
				f.loses.Store(nil)
				return errDown
			}
		}
		return err
	}
}

type result struct {
	outcome hourly.Outcome
	err     error
}

func run(t *testing.T, job *hourly.Job, hour time.Time) result {
	outcome, err := job.Run(t.Context(), hour)
	return result{outcome, err}
}

// want compares what Run returned. A nil cause wants no error.
func want(t *testing.T, outcome hourly.Outcome, cause error) func(hourly.Outcome, error) {
	return func(got hourly.Outcome, err error) {
		t.Helper()
		if got != outcome || (cause == nil) != (err == nil) || !errors.Is(err, cause) {
			t.Errorf("got %v, %v; want %v, %v", got, err, outcome, cause)
		}
	}
}

func works(context.Context, hourly.Attempt) error { return nil }

// fails is work that must not be done.
func fails(t *testing.T) func(context.Context, hourly.Attempt) error {
	return func(_ context.Context, a hourly.Attempt) error {
		t.Errorf("the work was done: %+v", a)
		return nil
	}
}

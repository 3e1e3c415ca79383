package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	// lease is how long the others wait for a node that was killed. A program would take
	// 10 s or so: below a second a slow network is a dead node.
	lease    = time.Second
	attempts = 2
)

var roles = map[string]demo.Role{"node": node}

// setup is what a node is told at its start.
type setup struct{ URL, Job string }

// tick is what its scheduler tells it: an hour, and how the work is to go.
type tick struct {
	Hour  time.Time
	Works map[int]string // by the number of the attempt; else it succeeds
}

// news is what a node tells the parent.
type news struct {
	Client  string // once, at the start
	Began   int    // the number of the attempt
	Ended   bool
	Outcome hourly.Outcome
	Err     string
}

// node is one of the nodes: each tick runs the job of an hour.
func node(ctx context.Context, parent *demo.Parent) (err error) {
	var s setup
	if err := parent.Receive(ctx, &s); err != nil {
		return err
	}
	opts, err := redis.ParseURL(s.URL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(lease))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(ctx))
	}()
	if err := parent.Send(news{Client: client.ID()}); err != nil {
		return err
	}
	for {
		var t tick
		if err := parent.Receive(ctx, &t); err != nil {
			return err
		}
		job := &hourly.Job{Name: s.Job, Locks: client, Redis: rdb, Attempts: attempts}
		job.Work = func(ctx context.Context, a hourly.Attempt) error {
			if err := parent.Send(news{Began: a.Number}); err != nil {
				return err
			}
			return work(ctx, t.Works[a.Number])
		}
		n := news{Ended: true}
		if n.Outcome, err = job.Run(ctx, t.Hour); err != nil {
			n.Err = err.Error()
		}
		if err := parent.Send(n); err != nil {
			return err
		}
	}
}

// How the work of an attempt goes, but for the usual way.
const (
	fails = "fails"
	hangs = "hangs"
)

// work is the job. It takes a moment, or until it is killed.
func work(ctx context.Context, way string) error {
	if way == hangs {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := demo.Sleep(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	if way == fails {
		return errors.New("the printer is out of paper")
	}
	return nil
}

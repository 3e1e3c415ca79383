package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// editions is how often the table is rewritten in a round.
const editions = 5

// way is how a round is played.
type way struct {
	name   string
	title  string
	locked bool
	killed int // the edition in which the job is killed, or 0
}

var ways = []way{
	{name: "no lock", title: "Without a lock"},
	{name: "read-write lock", title: "With a read-write lock", locked: true},
	{name: "job killed", title: "With a read-write lock, and a job that is killed half-way", locked: true, killed: 3},
}

// round is one play: the desks and the job.
type round struct {
	way
	rdb     *demo.Redis
	log     *demo.Log
	setup   setup
	desks   []*demo.Process
	job     *demo.Process
	mayDie  bool     // the job has not been killed yet
	clients []string // of all processes, the killed one included
}

// play plays one round and returns what the readers have seen.
func play(ctx context.Context, rdb *demo.Redis, log *demo.Log, w way, readers int) (sum total, err error) {
	log.Section("%s", w.title)
	key := "{prices-" + uuid.NewString()[:8] + "}"
	r := &round{way: w, mayDie: true, rdb: rdb, log: log,
		setup: setup{URL: rdb.URL, Key: key + ":table", Locked: w.locked, Readers: readers}}
	defer func() { err = errors.Join(err, r.end(ctx)) }()
	if err := r.startJob(ctx); err != nil {
		return sum, err
	}
	if err := r.makeEdition(ctx, 1); err != nil { // something to read
		return sum, err
	}
	for range desks {
		if err := r.startDesk(ctx); err != nil {
			return sum, err
		}
	}
	for number := 2; number <= 1+editions; number++ {
		if err := r.makeEdition(ctx, number); err != nil {
			return sum, err
		}
		if err := demo.Sleep(ctx, 50*time.Millisecond); err != nil { // the table is in use
			return sum, err
		}
	}
	return r.count(ctx)
}

func (r *round) startDesk(ctx context.Context) error {
	p, err := demo.Start("desk", r.setup)
	if err != nil {
		return err
	}
	r.desks = append(r.desks, p)
	var client string
	if err := p.Receive(ctx, &client); err != nil {
		return fmt.Errorf("a desk did not open: %w", err)
	}
	r.clients = append(r.clients, client)
	return nil
}

func (r *round) startJob(ctx context.Context) (err error) {
	if r.job, err = demo.Start("job", r.setup); err != nil {
		return err
	}
	var hello news
	if err := r.job.Receive(ctx, &hello); err != nil {
		return fmt.Errorf("the job did not start: %w", err)
	}
	r.clients = append(r.clients, hello.Client)
	return nil
}

// makeEdition has the job rewrite the table. If the job is to be killed in this edition, its
// successor makes it.
func (r *round) makeEdition(ctx context.Context, number int) error {
	if err := r.job.Send(order{Edition: number, Hangs: r.mayDie && number == r.killed}); err != nil {
		return err
	}
	var n news
	if err := r.job.Receive(ctx, &n); err != nil {
		return fmt.Errorf("edition %d: %w", number, err)
	}
	if !n.Half {
		r.log.Line("job", "rewrote", "edition %d, after a wait of %s", number, demo.MS(n.Waited))
		return nil
	}
	r.mayDie = false
	if err := r.replaceJob(ctx, number); err != nil {
		return err
	}
	return r.makeEdition(ctx, number)
}

// replaceJob kills the job. It starts another one when the lease has ended and readers have
// seen what the first one left.
func (r *round) replaceJob(ctx context.Context, number int) error {
	r.job.Kill()
	r.job = nil
	r.log.Line("job", "killed", "half of edition %d is written", number)
	if err := demo.Sleep(ctx, lease+lease/4); err != nil {
		return err
	}
	r.log.Line("job", "started", "again")
	return r.startJob(ctx)
}

// count tells the desks that it is enough, and adds up what their readers have seen.
func (r *round) count(ctx context.Context) (sum total, err error) {
	sum.way = r.way
	for _, p := range r.desks {
		var t tally
		if err := errors.Join(p.Send("enough"), p.Receive(ctx, &t)); err != nil {
			return sum, fmt.Errorf("a desk did not report: %w", err)
		}
		sum.add(t)
	}
	return sum, nil
}

// end ends the processes and removes what they have left in Redis.
func (r *round) end(ctx context.Context) error {
	var errs []error
	for _, p := range append(r.desks, r.job) {
		if p != nil {
			errs = append(errs, p.End())
		}
	}
	for _, client := range r.clients {
		errs = append(errs, r.rdb.Forget(ctx, client, r.setup.Key+":lock"))
	}
	return errors.Join(append(errs, r.rdb.Del(context.WithoutCancel(ctx), r.setup.Key).Err())...)
}

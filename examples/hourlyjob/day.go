package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/examples/internal/demo"
)

var names = []string{"node-1", "node-2", "node-3"}

// noon is the first hour of the day that is played.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hour is one hour of the day, and what must come of it.
type hour struct {
	title string
	works map[int]string
	want  map[hourly.Outcome]int // nodes by outcome
}

var hours = []hour{
	{"the job succeeds, and the others find it done", nil,
		map[hourly.Outcome]int{hourly.Ran: 1, hourly.Done: 2}},
	{"it fails on one node, and another one does it", map[int]string{1: fails},
		map[hourly.Outcome]int{hourly.Failed: 1, hourly.Ran: 1, hourly.Done: 1}},
	{"the node at work is killed, and another one takes over", map[int]string{1: hangs},
		map[hourly.Outcome]int{hourly.Ran: 1, hourly.Done: 1}},
	{"it fails again and again, and is given up", map[int]string{1: fails, 2: fails},
		map[hourly.Outcome]int{hourly.Failed: 2, hourly.Exhausted: 1}},
}

// day is the nodes, and what they tell.
type day struct {
	rdb     *demo.Redis
	log     *demo.Log
	job     string
	nodes   map[string]*demo.Process
	clients []string
	played  int
}

func newDay(rdb *demo.Redis, log *demo.Log) *day {
	return &day{rdb: rdb, log: log, job: "report-" + uuid.NewString()[:8], nodes: make(map[string]*demo.Process)}
}

func (d *day) start(ctx context.Context, name string) error {
	p, err := demo.Start("node", setup{URL: d.rdb.URL, Job: d.job})
	if err != nil {
		return err
	}
	d.nodes[name] = p
	var hello news
	if err := p.Receive(ctx, &hello); err != nil {
		return fmt.Errorf("%s did not start: %w", name, err)
	}
	d.clients = append(d.clients, hello.Client)
	return nil
}

// message is what one node tells; err says that it tells nothing more.
type message struct {
	name string
	news
	err error
}

// play has all nodes run the job of the next hour, and compares what comes of it.
func (d *day) play(ctx context.Context, h hour) error {
	at := noon.Add(time.Duration(d.played) * time.Hour)
	d.played++
	d.log.Section("%s  %s", at.Format("15:04"), h.title)

	for _, p := range d.nodes {
		if err := p.Send(tick{Hour: at, Works: h.works}); err != nil {
			return err
		}
	}
	all := make(chan message)
	for name, p := range d.nodes {
		go listen(ctx, name, p, all)
	}
	got, err := d.follow(ctx, h, all)
	if err != nil {
		return err
	}
	if fmt.Sprint(got) != fmt.Sprint(h.want) {
		return fmt.Errorf("%s: the outcomes are %v, want %v", at.Format("15:04"), got, h.want)
	}
	return d.replace(ctx)
}

// follow tells what the nodes tell, until each has come to an end with the hour, and
// kills the one whose work hangs.
func (d *day) follow(ctx context.Context, h hour, all <-chan message) (map[hourly.Outcome]int, error) {
	got := make(map[hourly.Outcome]int)
	var killed time.Time
	var errs []error
	for left := len(d.nodes); left > 0; {
		t := <-all
		switch {
		case t.err != nil:
			left--
			if killed.IsZero() || ctx.Err() != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.name, t.err))
			}
		case t.Ended:
			left--
			got[t.Outcome]++
			d.log.Line(t.name, t.Outcome.String(), "%s", explain(t.news))
		case h.works[t.Began] == hangs:
			d.log.Line(t.name, "works", "attempt %d of %d", t.Began, attempts)
			// Its listener sees the end of it and counts it out.
			d.nodes[t.name].Kill()
			delete(d.nodes, t.name)
			killed = time.Now()
			d.log.Line(t.name, "killed", "in mid-run; its lease of %v goes on without it", lease)
		case !killed.IsZero():
			d.log.Line(t.name, "works", "attempt %d of %d, %s after the kill", t.Began, attempts, demo.MS(time.Since(killed)))
		default:
			d.log.Line(t.name, "works", "attempt %d of %d", t.Began, attempts)
		}
	}
	return got, errors.Join(errs...)
}

// listen passes on what a node tells until it has come to an end with the hour.
func listen(ctx context.Context, name string, p *demo.Process, all chan<- message) {
	for {
		t := message{name: name}
		t.err = p.Receive(ctx, &t.news)
		all <- t
		if t.err != nil || t.Ended {
			return
		}
	}
}

// replace starts a node for each that was killed.
func (d *day) replace(ctx context.Context) error {
	for _, name := range names {
		if d.nodes[name] == nil {
			if err := d.start(ctx, name); err != nil {
				return err
			}
			d.log.Line(name, "started", "again")
		}
	}
	return nil
}

// explain says more of an outcome.
func explain(n news) string {
	switch n.Outcome {
	case hourly.Ran:
		return fmt.Sprintf("the hour is marked as done for %v", hourly.Kept)
	case hourly.Done:
		return "nothing to do"
	case hourly.Exhausted:
		return fmt.Sprintf("%d attempts are enough", attempts)
	default:
		return n.Err
	}
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// scene is so many customers who are in line when the counter opens.
type scene struct {
	title     string
	customers int
	stays     int   // the customer who stays until its door is killed, or 0
	want      []int // who is served, in this order
}

var scenes = []scene{
	{"Nine customers come by three doors, and then the counter opens",
		9, 0, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	// Customers 2, 5 and 8 came by door-2.
	{"door-2 is killed while customer 2 is at the counter, and 5 and 8 are in line",
		9, 2, []int{1, 2, 3, 4, 6, 7, 9}},
}

// play lets the customers in one after the other, opens the counter, and follows the book.
func (h *hall) play(ctx context.Context, s scene) error {
	h.log.Section("%s", s.title)
	closed := func(ctx context.Context) error { // nobody is served while the parent has the counter
		for n := 1; n <= s.customers; n++ {
			if err := h.letIn(ctx, customer{Number: n, Stays: n == s.stays}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := h.counter.Do(ctx, closed); err != nil {
		return err
	}
	return h.follow(ctx, s)
}

// letIn tells a door of a customer, and returns when Redis has the customer in line.
func (h *hall) letIn(ctx context.Context, c customer) error {
	if err := h.doors[h.doorOf(c.Number)].Send(c); err != nil {
		return err
	}
	for {
		info, err := h.counter.Info(ctx)
		if err != nil || len(info.Waiters) == c.Number {
			return err
		}
		if err := demo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// follow tells who is served, in the order of the book, and fails if it is another order than
// it should be. It kills the door of the customer who stays.
func (h *hall) follow(ctx context.Context, s scene) error {
	var killed time.Time
	for _, want := range s.want {
		door, number, err := h.next(ctx)
		if err != nil {
			return err
		}
		if number != want {
			return fmt.Errorf("customer %d was served, and it was the turn of customer %d", number, want)
		}
		detail := ""
		if !killed.IsZero() {
			detail = fmt.Sprintf(", %s after the kill", demo.MS(time.Since(killed)))
			killed = time.Time{}
		}
		h.log.Line(door, "served", "customer %d%s", number, detail)
		if number == s.stays {
			h.kill(door)
			killed = time.Now()
			h.log.Line(door, "killed", "its lease of %v goes on without it", lease)
		}
	}
	return nil
}

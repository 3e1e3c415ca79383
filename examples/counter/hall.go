package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

var names = []string{"door-1", "door-2", "door-3"}

// hall is the counter, the doors, and the book in which each customer is entered who is
// served.
type hall struct {
	rdb     *demo.Redis
	log     *demo.Log
	name    string // of the lock
	client  *reentrant.Client
	counter *reentrant.Lock
	doors   map[string]*demo.Process
	clients []string // of the doors, killed ones included
}

func newHall(rdb *demo.Redis, log *demo.Log) (*hall, error) {
	client, err := reentrant.New(rdb.Client, reentrant.WithLease(lease))
	if err != nil {
		return nil, err
	}
	name := "counter-" + uuid.NewString()[:8]
	return &hall{rdb: rdb, log: log, name: name, client: client, counter: client.NewFairLock(name),
		doors: make(map[string]*demo.Process)}, nil
}

func (h *hall) book() string { return h.name + ":book" }

// doorOf is the door by which a customer comes.
func (h *hall) doorOf(customer int) string { return names[(customer-1)%len(names)] }

// open starts the process of a door.
func (h *hall) open(ctx context.Context, name string) error {
	p, err := demo.Start("door", setup{URL: h.rdb.URL, Door: name, Counter: h.name, Book: h.book()})
	if err != nil {
		return err
	}
	h.doors[name] = p
	var client string
	if err := p.Receive(ctx, &client); err != nil {
		return fmt.Errorf("%s did not open: %w", name, err)
	}
	h.clients = append(h.clients, client)
	return nil
}

// kill ends the process of a door at once, as a crash would.
func (h *hall) kill(name string) {
	h.doors[name].Kill()
	delete(h.doors, name)
}

// next waits for the next entry of the book, and takes it out.
func (h *hall) next(ctx context.Context) (door string, customer int, err error) {
	for ctx.Err() == nil {
		// A blocking command is not ended by ctx, so it has a limit of its own.
		entry, err := h.rdb.BLPop(ctx, time.Second, h.book()).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		_, err = fmt.Sscanf(entry[1], "%s %d", &door, &customer)
		return door, customer, err
	}
	return "", 0, context.Cause(ctx)
}

// end ends the doors and removes what they have left in Redis.
func (h *hall) end(ctx context.Context) error {
	var errs []error
	for _, p := range h.doors {
		errs = append(errs, p.End())
	}
	for _, client := range h.clients {
		errs = append(errs, h.rdb.Forget(ctx, client, h.name))
	}
	return errors.Join(append(errs,
		h.rdb.Leave(ctx, h.client, h.name),
		h.rdb.Del(context.WithoutCancel(ctx), h.book()).Err())...)
}

package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/multilock"
)

// server is one that the rung starts for itself.
type server struct {
	*redis.Options
	track *track
}

func (s *stage) server(name string) (*server, error) {
	opts, err := s.another()
	if err != nil {
		return nil, err
	}
	return &server{Options: opts, track: s.watch(name, opts)}, nil
}

// two starts anna and bert as clients of that server.
func (s *stage) two(ctx context.Context, at *server) (anna, bert *process, err error) {
	if anna, err = s.process(ctx, "anna", at.Options); err != nil {
		return nil, nil, err
	}
	bert, err = s.process(ctx, "bert", at.Options)
	return anna, bert, err
}

// quorum is the process's lock over several servers: the first by its own wire, which can
// be led elsewhere, the others directly.
func (p *process) quorum(ctx context.Context, others ...*server) (*multilock.MultiLock, error) {
	clients := []*redis.Client{p.rdb}
	for _, o := range others {
		opts := *o.Options
		rdb := redis.NewClient(&opts)
		p.rdbs = append(p.rdbs, rdb)
		clients = append(clients, rdb)
	}
	var locks []multilock.Locker
	for _, rdb := range clients {
		client, err := p.redlatchOn(ctx, rdb)
		if err != nil {
			return nil, err
		}
		locks = append(locks, client.NewLock(p.stage.key))
	}
	// The servers are new, so nobody can hold a lock on them. It also means that the
	// promoted one is believed at once: no more than a majority stands in bert's way.
	return multilock.NewQuorumWith(locks, multilock.WithoutQuarantine())
}

func (p *process) acquireQuorum(ctx context.Context, lock *multilock.MultiLock) (*multilock.Hold, error) {
	p.say("asks", "Acquire", none)
	hold, err := lock.Acquire(ctx)
	if err == nil {
		p.say("Acquire", "granted", took)
	}
	return hold, err
}

func failOverQuorum(ctx context.Context, s *stage) error {
	servers, err := s.pair("server 1", "replica 1")
	if err != nil {
		return err
	}
	second, err := s.server("server 2")
	if err != nil {
		return err
	}
	third, err := s.server("server 3")
	if err != nil {
		return err
	}
	anna, bert, err := s.two(ctx, servers.primary)
	if err != nil {
		return err
	}
	hers, err := anna.quorum(ctx, second, third)
	if err != nil {
		return err
	}
	his, err := bert.quorum(ctx, second, third)
	if err != nil {
		return err
	}
	s.begin(ctx)
	hold, err := anna.acquireQuorum(ctx, hers)
	if err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			err := anna.insideUntil(hold.Context(), func(ctx context.Context) error {
				if err := sleep(ctx, s.t(lease/2)); err != nil {
					return err
				}
				servers.fail(anna.wire, bert.wire)
				if err := sleep(ctx, s.t(lease)); err != nil { // every member is renewed, or not, meanwhile
					return err
				}
				held := 0
				for _, m := range hold.Members() {
					if m.Held {
						held++
					}
				}
				anna.say("Members", fmt.Sprintf("%d of %d held", held, len(hold.Members())), none)
				return nil
			})
			if err != nil {
				return err
			}
			return anna.release(ctx, hold)
		},
		func(ctx context.Context) error {
			hold, err := bert.acquireQuorum(ctx, his)
			if err != nil {
				return err
			}
			if err := bert.inside(hold.Context(), s.t(work)); err != nil {
				return err
			}
			return bert.release(ctx, hold)
		},
	)
}

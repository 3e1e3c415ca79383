package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// stage is one act while it is played.
type stage struct {
	rec       *recording
	key       string // of the lock
	home      *redis.Options
	another   func() (*redis.Options, error)
	processes []*process

	watched  []func(context.Context)
	unwatch  context.CancelFunc
	watching sync.WaitGroup
	onlooker []*redis.Client
}

// t is a time of the scenario, at the speed at which this act is played.
func (s *stage) t(d time.Duration) time.Duration { return s.rec.t(d) }

// begin starts the clock and looks at the lock's key from now on.
func (s *stage) begin(ctx context.Context) {
	if len(s.watched) == 0 {
		s.watch("redis", s.home)
	}
	for _, p := range s.processes {
		p.wire.forget()
	}
	s.rec.start = time.Now()
	ctx, s.unwatch = context.WithCancel(ctx)
	for _, watch := range s.watched {
		s.watching.Go(func() { watch(ctx) })
	}
}

// watch has the key on that server watched.
func (s *stage) watch(name string, server *redis.Options) *track {
	opts := *server
	rdb := redis.NewClient(&opts)
	t := &track{server: name}
	s.rec.tracks = append(s.rec.tracks, t)
	s.onlooker = append(s.onlooker, rdb)
	s.watched = append(s.watched, func(ctx context.Context) { t.watch(ctx, s.rec, rdb, s.key, s.nameOf) })
	return t
}

func (s *stage) stopWatching() {
	if s.unwatch != nil {
		s.unwatch()
	}
	s.watching.Wait()
	for _, rdb := range s.onlooker {
		rdb.Close()
	}
	s.onlooker = nil
}

// nameOf tells whose value the lock's key has.
func (s *stage) nameOf(value string) string {
	for _, p := range s.processes {
		for _, c := range p.clients {
			if len(value) > len(c.ID()) && value[:len(c.ID())] == c.ID() {
				return p.name
			}
		}
	}
	return nameOf(value)
}

// step is a point in the story that others wait for.
type step chan struct{}

func (s step) done() { close(s) }

func (s step) wait(ctx context.Context) error {
	select {
	case <-s:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// together runs the actors at the same time and returns when all have ended. The first
// error ends the ctx of the others.
func together(ctx context.Context, actors ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(actors))
	var wg sync.WaitGroup
	for i, actor := range actors {
		wg.Go(func() {
			if errs[i] = actor(ctx); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

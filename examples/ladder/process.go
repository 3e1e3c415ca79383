package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// process is one participant: it has a connection pool of its own, and a Client of its
// own if it uses Redlatch.
type process struct {
	name    string
	stage   *stage
	wire    *wire
	rdb     *redis.Client
	clients []*reentrant.Client
	crashed bool
	rdbs    []*redis.Client
}

// process starts one that knows the given server.
func (s *stage) process(ctx context.Context, name string, server *redis.Options) (*process, error) {
	p := &process{name: name, stage: s, wire: newWire(server)}
	p.rdb = p.wire.client()
	p.rdbs = append(p.rdbs, p.rdb)
	s.processes = append(s.processes, p)
	return p, p.rdb.Ping(ctx).Err() // so that the first command need not connect
}

// three starts anna, bert and carl.
func (s *stage) three(ctx context.Context) (anna, bert, carl *process, err error) {
	var errs [3]error
	anna, errs[0] = s.process(ctx, "anna", s.home)
	bert, errs[1] = s.process(ctx, "bert", s.home)
	carl, errs[2] = s.process(ctx, "carl", s.home)
	return anna, bert, carl, errors.Join(errs[:]...)
}

// warmUp is another lock's key.
func (s *stage) warmUp() string { return s.key + "-warm-up" }

// redlatch makes the process's Client, which has loaded its scripts. It logs nothing: losses are the ladder's to tell.
func (p *process) redlatch(ctx context.Context, opts ...reentrant.Option) (*reentrant.Client, error) {
	return p.redlatchOn(ctx, p.rdb, opts...)
}

func (p *process) redlatchOn(ctx context.Context, rdb *redis.Client, opts ...reentrant.Option) (*reentrant.Client, error) {
	client, err := reentrant.New(rdb, append([]reentrant.Option{reentrant.WithLease(p.stage.t(lease)), reentrant.WithLogger(nil)}, opts...)...)
	if err != nil {
		return nil, err
	}
	p.clients = append(p.clients, client)
	err = client.NewLock(p.stage.warmUp()).Do(ctx, func(context.Context) error { return nil })
	if errors.Is(err, reentrant.ErrReplicas) {
		err = nil // the scripts are loaded all the same
	}
	return client, err
}

// crash ends the process in the middle of what it does.
func (p *process) crash() {
	p.crashed = true
	p.wire.crash()
	p.stage.rec.leave(p.name)
	p.say("crashes", "", grave)
}

// end closes what the process has.
func (p *process) end(ctx context.Context) error {
	var errs []error
	for _, client := range p.clients {
		errs = append(errs, client.Close(ctx))
	}
	for _, rdb := range p.rdbs {
		errs = append(errs, rdb.Close())
	}
	return errors.Join(errs...)
}

func (p *process) say(what, came string, e effect) { p.stage.rec.say(p.name, what, came, e) }

// inside does work for that long, under the lock's protection. ctx ends it.
func (p *process) inside(ctx context.Context, d time.Duration) error {
	return p.insideUntil(ctx, func(ctx context.Context) error { return sleep(ctx, d) })
}

func (p *process) insideUntil(ctx context.Context, work func(context.Context) error) error {
	p.stage.rec.enter(p.name)
	defer p.stage.rec.leave(p.name)
	return work(ctx)
}

// acquire takes a lock of Redlatch.
func (p *process) acquire(ctx context.Context, lock *reentrant.Lock, opts ...reentrant.AcquireOption) (*reentrant.Hold, error) {
	p.say("asks", "Acquire", none)
	hold, err := lock.Acquire(ctx, opts...)
	if err == nil {
		p.say("Acquire", "granted", took)
	}
	return hold, err
}

// held is a hold of Redlatch, on one server or over several.
type held interface{ Release(context.Context) error }

// release gives a lock of Redlatch back.
func (p *process) release(ctx context.Context, hold held) error {
	err := hold.Release(ctx)
	if err == nil {
		p.say("Release", "freed", freed)
	}
	return err
}

// releaseLate gives back a lock that may be lost, as the story wants it.
func (p *process) releaseLate(ctx context.Context, hold held) error {
	err := p.release(ctx, hold)
	if errors.Is(err, reentrant.ErrLost) {
		p.say("Release", "ErrLost: nothing of anybody else's is freed", grave)
		return nil
	}
	return err
}

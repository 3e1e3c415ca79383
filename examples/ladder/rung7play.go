package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

func failOverHomeMade(ctx context.Context, s *stage) error {
	servers, err := s.pair("primary", "replica")
	if err != nil {
		return err
	}
	anna, bert, err := s.two(ctx, servers.primary)
	if err != nil {
		return err
	}
	hers, his, bertIn := anna.value(), bert.value(), make(step)
	s.begin(ctx)
	if err := anna.spin(ctx, hers, s.t(retry)); err != nil {
		return err
	}
	stop := anna.renewing(ctx, hers)
	defer stop()
	return together(ctx,
		func(ctx context.Context) error {
			err := anna.insideUntil(ctx, func(ctx context.Context) error {
				if err := bertIn.wait(ctx); err != nil {
					return err
				}
				return sleep(ctx, s.t(lease*2/3))
			})
			stop()
			if err != nil {
				return err
			}
			return anna.deleteIfMine(ctx, hers)
		},
		func(ctx context.Context) error {
			for n := 1; ; n++ {
				ok, err := bert.setNX(ctx, his, s.t(lease))
				if err != nil {
					return err
				}
				if ok {
					break
				}
				if n == 5 {
					servers.fail(anna.wire, bert.wire)
				}
				if err := sleep(ctx, s.t(retry)); err != nil {
					return err
				}
			}
			err := bert.insideUntil(ctx, func(ctx context.Context) error {
				bertIn.done()
				return sleep(ctx, s.t(lease*5/6))
			})
			if err != nil {
				return err
			}
			return bert.deleteIfMine(ctx, his)
		},
	)
}

// fenced is a resource that refuses whoever comes with an older token than it has seen.
type fenced struct{ highest int64 }

func (f *fenced) write(p *process, token int64) (accepted bool) {
	if accepted = token >= f.highest; accepted {
		f.highest = token
	}
	if accepted {
		p.say("write", fmt.Sprintf("accepted: token %d", token), none)
	} else {
		p.say("write", fmt.Sprintf("refused: token %d is older", token), grave)
	}
	return accepted
}

// failOverFenced: anna's connection is the last to come back, so that she is told as
// late as can be; meanwhile a write of hers reaches the resource.
func failOverFenced(ctx context.Context, s *stage) error {
	servers, err := s.pair("primary", "replica")
	if err != nil {
		return err
	}
	anna, bert, err := s.two(ctx, servers.primary)
	if err != nil {
		return err
	}
	hers, err := anna.redlatch(ctx)
	if err != nil {
		return err
	}
	bertWaits, bertIn := make(step), make(step)
	waits := sync.OnceFunc(bertWaits.done)
	his, err := bert.redlatch(ctx, reentrant.WithEvents(reentrant.Events{
		Waiting: func(reentrant.Event) { waits() },
	}))
	if err != nil {
		return err
	}
	var resource fenced
	s.begin(ctx)
	hold, err := anna.acquire(ctx, hers.NewLock(s.key, reentrant.WithFencing()))
	if err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			var refused bool
			err := anna.insideUntil(hold.Context(), func(work context.Context) error {
				if err := bertWaits.wait(ctx); err != nil {
					return err
				}
				if err := sleep(ctx, s.t(lease/3)); err != nil {
					return err
				}
				let := anna.wire.hold()
				defer let()
				servers.fail(anna.wire, bert.wire)
				// Her lease ends in any case. If that is before bert is in, on a busy
				// machine, it is another story.
				if err := bertIn.wait(work); err != nil {
					return err
				}
				refused = !resource.write(anna, hold.Token())
				let()
				<-work.Done() // she goes on until she is told
				return nil
			})
			if err != nil {
				return err
			}
			if refused {
				s.rec.fact("refused", 1)
			}
			if errors.Is(context.Cause(hold.Context()), reentrant.ErrLost) {
				anna.say("ctx ends", "ErrLost", grave)
				s.rec.fact("told", 1)
			}
			return anna.releaseLate(ctx, hold)
		},
		func(ctx context.Context) error {
			hold, err := bert.acquire(ctx, his.NewLock(s.key, reentrant.WithFencing()))
			if err != nil {
				return err
			}
			err = bert.insideUntil(hold.Context(), func(ctx context.Context) error {
				resource.write(bert, hold.Token())
				bertIn.done()
				return sleep(ctx, s.t(lease*2/3))
			})
			if err != nil {
				return err
			}
			return bert.release(ctx, hold)
		},
	)
}

// failOverAcknowledged: neither the replica nor, after the failover, anybody else can
// confirm that it has the lock.
func failOverAcknowledged(ctx context.Context, s *stage) error {
	servers, err := s.pair("primary", "replica")
	if err != nil {
		return err
	}
	anna, bert, err := s.two(ctx, servers.primary)
	if err != nil {
		return err
	}
	var clients []*reentrant.Client
	for _, p := range []*process{anna, bert} {
		client, err := p.redlatch(ctx, reentrant.WithReplicaAcks(1, s.t(50*time.Millisecond)))
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	s.begin(ctx)
	for i, p := range []*process{anna, bert} {
		p.say("asks", "Acquire", none)
		hold, err := clients[i].NewLock(s.key).Acquire(ctx)
		var few *reentrant.ReplicasError
		switch {
		case errors.As(err, &few):
			p.say("Acquire", fmt.Sprintf("ErrReplicas: %d of %d have it; given back", few.Got, few.Want), grave)
			s.rec.fact("refused "+p.name, 1)
		case err != nil:
			return err
		default:
			p.say("Acquire", "granted", took)
			if err := p.inside(hold.Context(), s.t(work)); err != nil {
				return err
			}
			if err := p.release(ctx, hold); err != nil {
				return err
			}
		}
		if err := sleep(ctx, s.t(work/2)); err != nil {
			return err
		}
		if p == anna {
			servers.fail(anna.wire, bert.wire)
		}
	}
	return nil
}

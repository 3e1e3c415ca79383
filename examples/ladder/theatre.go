package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// endWithin is how long an act has to release what it holds when it ends, and
// breakOffWithin when it was broken off with locks held.
const (
	endWithin      = 3 * time.Second
	breakOffWithin = lease / 3
)

// theatre is where the acts are played: a Redis server, and more of them for the rung in
// which servers fail.
type theatre struct {
	where  string
	home   *redis.Options
	prefix string
	acts   int
	closed []func()

	// another starts one more server, which ends with the theatre.
	another func() (*redis.Options, error)
}

func newTheatre(ctx context.Context, redisURL string) (*theatre, error) {
	t := &theatre{
		where:  "the server of REDIS_URL (rung 7: its own)",
		prefix: "ladder-" + uuid.NewString()[:8] + ":",
	}
	t.another = t.embedded
	var err error
	if redisURL == "" {
		t.where = "an embedded miniredis (set REDIS_URL to use a server)"
		t.home, err = t.embedded()
	} else if t.home, err = redis.ParseURL(redisURL); err != nil {
		err = fmt.Errorf("REDIS_URL: %w", err)
	}
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(t.home)
	defer rdb.Close()
	if err := rdb.Ping(ctx).Err(); err != nil {
		t.close()
		return nil, fmt.Errorf("no answer from Redis: %w", err)
	}
	return t, nil
}

// embedded starts a miniredis in this process.
func (t *theatre) embedded() (*redis.Options, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	server.ClockTTL(true) // keys expire as time passes, as they do in Redis
	t.closed = append(t.closed, server.Close)
	return &redis.Options{Addr: server.Addr()}, nil
}

func (t *theatre) close() {
	for _, end := range t.closed {
		end()
	}
}

// actLimit is for acts that hang. They take half a second.
const actLimit = 10 * time.Second

var errHangs = errors.New("the act hangs")

// play plays an act and returns what was seen of it, with all processes ended and all
// keys removed. On a machine that stands still for long the story is another one, since
// leases end that should not: then it plays again, slower.
func (t *theatre) play(ctx context.Context, a act) (rec *recording, err error) {
	for slow := 1; ; slow *= 2 {
		rec, err = t.playOnce(ctx, a, slow)
		again := rec.stoodStill() || errors.Is(err, reentrant.ErrLost)
		if !again || slow >= slowest || ctx.Err() != nil {
			return rec, err
		}
	}
}

// slowest is how many times slower than written an act may be played.
const slowest = 16

// stoodStill reports whether this process did not get to run for so long that what was
// seen is not the scenario.
func (r *recording) stoodStill() bool { return r.stall >= r.t(lease/3) }

func (t *theatre) playOnce(ctx context.Context, a act, slow int) (rec *recording, err error) {
	t.acts++
	rec = newRecording(a.actors)
	rec.slow = slow
	for _, who := range a.actors {
		if a.chain != "" {
			rec.owner[who] = a.chain
		}
	}
	s := &stage{rec: rec, key: fmt.Sprintf("%s%d", t.prefix, t.acts), home: t.home, another: t.another}
	defer func() {
		within := rec.t(endWithin)
		if err != nil {
			within = breakOffWithin
		}
		err = errors.Join(err, s.cleanUp(ctx, within))
	}()
	limited, cancel := context.WithTimeoutCause(ctx, rec.t(actLimit), errHangs)
	defer cancel()
	err = a.play(limited, s)
	s.stopWatching()
	rec.finish()
	return rec, err
}

// cleanUp ends the processes and removes what they may have left in Redis.
func (s *stage) cleanUp(ctx context.Context, within time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	keys := []string{s.key}
	var errs []error
	for _, p := range s.processes {
		if err := p.end(limited); !p.crashed {
			errs = append(errs, err)
		}
		for _, c := range p.clients {
			k := lua.KeysOf(s.key, c.ID())
			w := lua.KeysOf(s.warmUp(), c.ID())
			keys = append(keys, k.Epoch(), k.Turn(), k.Waiters(), w.Epoch())
		}
	}
	rdb := redis.NewClient(s.home)
	defer rdb.Close()
	ctx, cancel = context.WithTimeout(ctx, endWithin)
	defer cancel()
	return errors.Join(append(errs, rdb.Del(ctx, keys...).Err())...)
}

//go:build unix

package pagecost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/reentrant"
)

// batch is how many keys one pipeline writes.
const batch = 10_000

// searchFor matches ten locks, so that a search looks at all keys.
const searchFor = "order:99?"

// fill writes the keys that are no locks.
func fill(ctx context.Context, rdb *redis.Client, cfg Config) error {
	for from := 0; from < max(cfg.Strings, cfg.Hashes); from += batch {
		_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := from; i < from+batch; i++ {
				if i < cfg.Strings {
					pipe.Set(ctx, fmt.Sprint("string:", i), "value", 0)
				}
				if i < cfg.Hashes {
					pipe.HSet(ctx, fmt.Sprint("session:", i), "user", i, "basket", "empty")
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scene has one Client that holds the locks, and another that waits for some of them.
type scene struct {
	clients []*reentrant.Client
	rdb     []*redis.Client
	leave   context.CancelFunc
	waiters sync.WaitGroup
}

const closeWithin = 10 * time.Second

func setScene(ctx context.Context, srv *server.Server, cfg Config) (_ *scene, err error) {
	waiting, leave := context.WithCancel(ctx)
	s := &scene{leave: leave}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, name := range []string{"orders", "billing"} {
		rdb := redis.NewClient(&redis.Options{Addr: srv.Addr})
		s.rdb = append(s.rdb, rdb)
		c, err := reentrant.New(rdb, reentrant.WithClientName(name))
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, c)
	}
	holder := reentrant.WithOwner(ctx, "holder")
	for i := range cfg.Locks {
		if err := s.clients[0].NewLock(lockName(i)).Lock(holder); err != nil {
			return nil, err
		}
	}
	for i := range cfg.Waiters {
		l := s.clients[1].NewLock(lockName(i))
		s.waiters.Go(func() { _ = l.Lock(reentrant.WithOwner(waiting, fmt.Sprint("waiter-", i))) }) // ends with the scene
	}
	return s, s.awaitWaiters(ctx, cfg.Waiters)
}

func lockName(i int) string { return fmt.Sprint("order:", i) }

// awaitWaiters returns when Redis knows of all waiters.
func (s *scene) awaitWaiters(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	for {
		names, err := s.clients[0].Contended(ctx)
		if err != nil {
			return err
		}
		if len(names) >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the waiters do not wait")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *scene) close() {
	s.leave()
	s.waiters.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // Close would wait for the holders, and the server ends next
	for _, c := range s.clients {
		_ = c.Close(ctx)
	}
	for _, rdb := range s.rdb {
		rdb.Close()
	}
}

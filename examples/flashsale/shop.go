package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	errSoldOut = errors.New("sold out")
	errTwice   = errors.New("you have one already")
)

// shop is the code of one process. It is the same whatever the lock.
//
// Its data are kept as a service keeps them that reads, decides, asks others, and
// writes: the answer of Redis is a round trip away and the payment takes its time, so
// that what was read may have changed by the time it is written. One conditional UPDATE
// would need no lock, but a payment does not fit into a transaction.
type shop struct {
	rdb     *redis.Client
	lock    locker
	keys    keys
	payment time.Duration
}

// locker is what the shop needs of a lock: run fn while it is held. *reentrant.Lock is
// one.
type locker interface {
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// keys are where the shop's data are.
type keys struct{ Stock, Buyers, Orders string }

func keysOf(prefix string) keys {
	return keys{Stock: prefix + "stock", Buyers: prefix + "buyers", Orders: prefix + "orders"}
}

// order sells one item to a user who has none, and calls entered once it has the lock.
// An order that is refused is errSoldOut or errTwice.
func (s *shop) order(ctx context.Context, user string, entered func()) error {
	return s.lock.Do(ctx, func(ctx context.Context) error {
		entered()
		has, err := s.rdb.SIsMember(ctx, s.keys.Buyers, user).Result()
		if err != nil {
			return err
		}
		if has {
			return errTwice
		}
		return s.charge(ctx, user)
	})
}

// charge takes the money. Others call it too, so it takes the lock itself; from order it
// is a nested one.
func (s *shop) charge(ctx context.Context, user string) error {
	return s.lock.Do(ctx, func(ctx context.Context) error {
		stock, err := s.rdb.Get(ctx, s.keys.Stock).Int()
		if err != nil {
			return err
		}
		if stock <= 0 {
			return errSoldOut
		}
		if err := pay(ctx, s.payment); err != nil {
			return fmt.Errorf("payment of %s: %w", user, err)
		}
		return s.reserve(ctx, user, stock)
	})
}

// reserve writes the order down. It takes the lock a third time.
func (s *shop) reserve(ctx context.Context, user string, stock int) error {
	return s.lock.Do(ctx, func(ctx context.Context) error {
		_, err := s.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Set(ctx, s.keys.Stock, stock-1, 0)
			tx.SAdd(ctx, s.keys.Buyers, user)
			tx.RPush(ctx, s.keys.Orders, user)
			return nil
		})
		return err
	})
}

// pay is the payment provider. It gives up when ctx ends: with a lock that is when the
// lock was lost.
func pay(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// items is how many prices the table has.
const items = 20

// errHalfWritten says that the table has prices of two editions: with a lock, that the last job
// has died.
var errHalfWritten = errors.New("the price table is half written")

// table is a hash in Redis: the price of each item, and the edition.
type table struct {
	rdb         *redis.Client
	key         string
	read, write reentrant.Doer // the sides of a read-write lock
}

const edition = "edition"

// prices returns the table. Many callers read it at the same time. The error is errHalfWritten
// if the last job did not come to its end.
func (t *table) prices(ctx context.Context) (prices map[string]string, err error) {
	err = t.read.Do(ctx, func(ctx context.Context) error {
		prices, err = t.rdb.HGetAll(ctx, t.key).Result()
		if err == nil && prices[edition] == "" {
			err = errHalfWritten
		}
		return err
	})
	return prices, err
}

// rewrite makes a new edition of the table, with the prices that price returns. It waits for
// the readers that are at it; readers that come later wait for it.
func (t *table) rewrite(ctx context.Context, number int, price func(ctx context.Context, item int) (int, error)) error {
	return t.write.Do(ctx, func(ctx context.Context) error {
		// A reader after a crash has to see that the table is half written.
		if err := t.rdb.HDel(ctx, t.key, edition).Err(); err != nil {
			return err
		}
		for item := range items {
			p, err := price(ctx, item)
			if err != nil {
				return err
			}
			if err := t.rdb.HSet(ctx, t.key, strconv.Itoa(item), p).Err(); err != nil {
				return err
			}
		}
		return t.rdb.HSet(ctx, t.key, edition, number).Err()
	})
}

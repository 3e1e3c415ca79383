package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// lease is how long a killed job keeps the readers waiting. A program would take 10 s or so:
// below a second a slow network is a dead process.
const lease = time.Second

// setup is what a process is told at its start.
type setup struct {
	URL, Key string
	Locked   bool
	Readers  int // of a desk
}

// shop is what a process has to do with the table.
type shop struct {
	table
	client *reentrant.Client
}

func newShop(s setup) (*shop, error) {
	opts, err := redis.ParseURL(s.URL)
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(opts)
	client, err := reentrant.New(rdb, reentrant.WithLease(lease))
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	t := table{rdb: rdb, key: s.Key, read: noLock{}, write: noLock{}}
	if s.Locked {
		lock := client.NewReadWriteLock(s.Key + ":lock")
		t.read, t.write = lock.Read(), lock.Write()
	}
	return &shop{table: t, client: client}, nil
}

// close closes the Client and the connections, also when ctx has ended.
func (s *shop) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(s.client.Close(ctx), s.rdb.Close())
}

// noLock lets everybody do everything at any time.
type noLock struct{}

func (noLock) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

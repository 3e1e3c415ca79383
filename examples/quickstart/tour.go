package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// shortLease is that of the third client, so that a lease can be seen to pass.
const shortLease = time.Second

// names of the locks, without the prefix that makes them unique.
const (
	order  = "order-42"
	ticket = "last-ticket"
	report = "report-15h"
)

// tour is three clients on one Redis. A Client is one participant: three of them in
// one process exclude each other as those of three processes do.
type tour struct {
	log    transcript
	rdb    *redis.Client
	prefix string
	anna   *reentrant.Client
	bert   *reentrant.Client
	carl   *reentrant.Client // with shortLease
}

func newTour(rdb *redis.Client, out io.Writer) (*tour, error) {
	t := &tour{
		log:    transcript{out: out, start: time.Now()},
		rdb:    rdb,
		prefix: "quickstart-" + uuid.NewString()[:8] + ":",
	}
	quiet := reentrant.WithLogger(nil) // the tour itself tells of losses
	var errs [3]error
	t.anna, errs[0] = reentrant.New(rdb, reentrant.WithPrefix(t.prefix), quiet)
	t.bert, errs[1] = reentrant.New(rdb, reentrant.WithPrefix(t.prefix), quiet)
	t.carl, errs[2] = reentrant.New(rdb, reentrant.WithPrefix(t.prefix), quiet, reentrant.WithLease(shortLease))
	return t, errors.Join(errs[:]...)
}

// introduce says where the tour takes place.
func (t *tour) introduce(embedded bool) {
	where := "the Redis server of REDIS_URL"
	if embedded {
		where = "an embedded miniredis (set REDIS_URL to use a server)"
	}
	fmt.Fprintf(t.log.out, "Redlatch on %s.\n", where)
	fmt.Fprintf(t.log.out, "anna, bert and carl are three Clients, as in three processes.\n")
}

// cleanUp closes the clients and removes what they may have left in Redis: locks
// of a tour that was interrupted, and keys that would expire within a minute.
func (t *tour) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	var errs []error
	for _, client := range []*reentrant.Client{t.anna, t.bert, t.carl} {
		errs = append(errs, client.Close(ctx))
		for _, name := range []string{order, ticket, report} {
			keys := lua.KeysOf(t.prefix+name, client.ID())
			errs = append(errs, t.rdb.Del(ctx, keys.Lock, keys.Epoch(), keys.Turn(), keys.Waiters()).Err())
		}
	}
	return errors.Join(errs...)
}

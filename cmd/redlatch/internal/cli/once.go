package cli

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// The done mark of --once-per is a key with a TTL, which is written while the lock is held. A machine that comes later, and
// gets the lock when the first has finished, finds it.

func (r *runner) mark() string { return r.prefix + r.name + ":done" }

// done returns when the work was done, if that is not longer ago than --once-per.
func (r *runner) done(ctx context.Context) (at string, err error) {
	at, err = r.on[0].rdb.Get(ctx, r.mark()).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return at, err
}

func (r *runner) markDone() error {
	ctx, cancel := limited(r.timeout)
	defer cancel()
	return r.on[0].rdb.Set(ctx, r.mark(), time.Now().UTC().Format(time.RFC3339), r.oncePer).Err()
}

package hourly

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// commandWithin limits a command. go-redis tries several times within it.
const commandWithin = 5 * time.Second

// state is what Redis knows of an hour.
type state struct {
	outcome  Outcome // Done, Exhausted, or else Unavailable
	attempts int     // but for this one, should it be counted already
}

// over reports whether there is nothing more to do.
func (s state) over() bool { return s.outcome != Unavailable }

func (j *Job) key(hour time.Time, what string) string {
	return "hourly:{" + j.Name + "}:" + hour.Format("2006-01-02T15") + ":" + what
}

// state asks Redis whether the hour is done, and how often others have tried.
func (j *Job) state(ctx context.Context, a Attempt) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	var done, attempts *redis.IntCmd
	var mine *redis.BoolCmd
	_, err = j.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		done = p.Exists(ctx, j.key(a.Hour, "done"))
		attempts = p.HLen(ctx, j.key(a.Hour, "attempts"))
		mine = p.HExists(ctx, j.key(a.Hour, "attempts"), a.ID)
		return nil
	})
	if err != nil {
		return state{}, err
	}
	limit := j.Attempts
	if limit == 0 {
		limit = Attempts
	}
	if s.attempts = int(attempts.Val()); mine.Val() {
		s.attempts--
	}
	switch {
	case done.Val() > 0:
		s.outcome = Done
	case s.attempts >= limit:
		s.outcome = Exhausted
	}
	return s, nil
}

// begin counts the attempt and returns how many there are now. It does so before the work
// begins: a node that dies of it has tried.
// The attempts are fields of a hash rather than a counter, since a command may run twice,
// and the same field twice is one attempt.
func (j *Job) begin(ctx context.Context, a Attempt) (number int, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	var attempts *redis.IntCmd
	_, err = j.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		key := j.key(a.Hour, "attempts")
		p.HSet(ctx, key, a.ID, time.Now().UTC().Format(time.RFC3339))
		p.PExpire(ctx, key, Kept)
		attempts = p.HLen(ctx, key)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int(attempts.Val()), nil
}

// mark marks the hour as done.
func (j *Job) mark(ctx context.Context, a Attempt) error {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	return j.Redis.Set(ctx, j.key(a.Hour, "done"), a.ID, Kept).Err()
}

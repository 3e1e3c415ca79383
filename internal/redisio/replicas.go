package redisio

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// ProcessAndWait sends a command by a pipeline to the node that has its key, and asks behind it how
// many replicas have what it wrote, for which Redis waits until there are so many or within has
// passed. The error is the command's.
//
// WAIT counts for what was written before on its own connection, and is not allowed in a script:
// hence a pipeline.
func ProcessAndWait(ctx context.Context, pipe redis.Pipeliner, cmd redis.Cmder, replicas int, within time.Duration) (acks int, err error) {
	if err := pipe.Process(ctx, cmd); err != nil {
		cmd.SetErr(err)
		return 0, err
	}
	wait := redis.NewIntCmd(ctx, "wait", replicas, within.Milliseconds())
	if err := pipe.Process(ctx, wait); err != nil {
		cmd.SetErr(err)
		return 0, err
	}
	// Exec's error is the first one of the commands'; each has its own too.
	_, _ = pipe.Exec(ctx)
	return int(wait.Val()), cmd.Err()
}

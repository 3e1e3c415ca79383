package main

import (
	"context"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/reentrant"
)

// periodic is a task, and when it is due.
type periodic struct {
	spec string // "*/5 * * * *", "@every 1s"
	task *asynq.Task
	opts []asynq.Option
}

// schedule enqueues the tasks while this process leads, and returns when ctx ends. The error is the one of [leader.Run], or
// says which task has an invalid spec.
func schedule(ctx context.Context, lock *reentrant.Lock, redis asynq.RedisConnOpt, opts *asynq.SchedulerOpts, tasks ...periodic) error {
	return leader.Run(ctx, lock, func(ctx context.Context) error {
		// A new one for each term: a Scheduler that was shut down cannot be started again.
		scheduler := asynq.NewScheduler(redis, opts)
		for _, p := range tasks {
			if _, err := scheduler.Register(p.spec, p.task, p.opts...); err != nil {
				return fmt.Errorf("register %s: %w", p.task.Type(), err)
			}
		}
		if err := scheduler.Start(); err != nil {
			return err
		}
		// It waits for what is being enqueued, and the lead is given up after that.
		defer scheduler.Shutdown()
		<-ctx.Done()
		return nil
	})
}

package redlatchgocron_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"

	redlatchgocron "github.com/redlatch/redlatch/adapters/gocron"
	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { nodes.Main(m, schedule) }

const elected = "elected" // nodes.Spec.How: by an Elector, and not by a Locker

// schedule is a node: its scheduler calls job at every full second.
func schedule(ctx context.Context, s nodes.Spec, client *reentrant.Client, job func()) error {
	jobs := []gocron.JobOption{gocron.WithName("report")}
	option := gocron.WithDistributedLocker(redlatchgocron.NewLocker(client, s.MinHold))
	resign := func(context.Context) error { return nil }
	if s.How == elected {
		elector := redlatchgocron.NewElector(client, "leader", s.MinHold)
		option, resign = gocron.WithDistributedElector(elector), elector.Close
		// The leader is let run at each tick, also while a run of its own goes on.
		jobs = append(jobs, gocron.WithSingletonMode(gocron.LimitModeReschedule))
	}
	scheduler, err := gocron.NewScheduler(option)
	if err != nil {
		return err
	}
	_, err = scheduler.NewJob(gocron.CronJob("* * * * * *", true), gocron.NewTask(job), jobs...)
	if err != nil {
		return err
	}
	scheduler.Start()
	<-ctx.Done()
	if err := errors.Join(scheduler.Shutdown(), resign(ctx)); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	return nil
}

// free is the time that a test gives the end of a lock.
const free = 10 * time.Second

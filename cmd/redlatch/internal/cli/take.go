package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// taking is how a lock is taken.
type taking struct {
	nonblock bool
	wait     time.Duration
	lease    time.Duration
	fixed    bool
	fence    bool
}

func (t *taking) flags(cmd *cobra.Command, lease time.Duration) {
	f := cmd.Flags()
	f.BoolVarP(&t.nonblock, "nonblock", "n", false, "do not wait: try once")
	f.DurationVarP(&t.wait, "wait", "w", 0, "wait no longer than this; without it for ever")
	f.DurationVar(&t.lease, "lease", lease, "how long the lock outlives redlatch")
	f.BoolVar(&t.fence, "fence", false, "take a fencing token")
}

// terms are the options of Acquire. A wait of 0 that was given is nonblock, as with flock.
func (t *taking) terms(cmd *cobra.Command) (opts []reentrant.AcquireOption) {
	if t.nonblock || cmd.Flags().Changed("wait") {
		wait := t.wait
		if t.nonblock {
			wait = 0
		}
		opts = append(opts, reentrant.WithWait(wait))
	}
	if t.fixed {
		opts = append(opts, reentrant.WithFixedLease(t.lease))
	}
	return opts
}

func (t *taking) lock(r *redlatch, name string) *reentrant.Lock {
	if t.fence {
		return r.NewLock(name, reentrant.WithFencing())
	}
	return r.NewLock(name)
}

// hold is a hold on one server, or on a quorum.
type hold interface {
	Release(ctx context.Context) error
	ReleaseAfter(ctx context.Context, d time.Duration) error
	Lost() <-chan struct{}
	Context() context.Context
}

// take takes the lock on one server, or on more than half of several.
func (t *taking) take(ctx context.Context, cmd *cobra.Command, on []*redlatch, name string) (h hold, token int64, err error) {
	if len(on) == 1 {
		one, err := t.lock(on[0], name).Acquire(ctx, t.terms(cmd)...)
		if err != nil {
			return nil, 0, err
		}
		return one, one.Token(), nil
	}
	var members []multilock.Locker
	for _, r := range on {
		members = append(members, r.NewLock(name))
	}
	quorum, err := multilock.NewQuorum(members...)
	if err != nil {
		return nil, 0, err
	}
	all, err := quorum.Acquire(ctx, t.terms(cmd)...)
	if err != nil {
		return nil, 0, err
	}
	return all, 0, nil
}

package redisio

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// These are the pauses between two reloads of a cluster's map while commands fail, doubling from
	// the first to the last. The map does not change before the nodes have elected a new master,
	// which takes seconds, and each reload is a command to one node.
	firstReload = 100 * time.Millisecond
	lastReload  = time.Second

	// calmReload is the time without a failure after which the pauses begin anew.
	calmReload = 10 * time.Second
)

// Reloader sends commands to a Cluster. When a command fails and the slot may be elsewhere, it has
// go-redis ask the nodes anew where the slots are.
//
// go-redis does so itself after MOVED, ASK and READONLY, for a command to the Cluster. When it cannot
// reach a node, it tries another one, but only for commands that it may send again, and ours it may
// not. Without the Reloader our commands would go to a master that has crashed until the map is
// ClusterStateReloadInterval old, 60 s by default, long after its replica took over.
type Reloader struct {
	rdb     Processor
	cluster stateReloader

	mu    sync.Mutex
	pause time.Duration // before the next reload; guarded by mu
	next  time.Time     // no reload before; guarded by mu
}

type stateReloader interface {
	ReloadState(ctx context.Context) // in the background, one at a time
}

// NewReloader makes a Reloader that sends commands by rdb, and whose map is that of cluster.
func NewReloader(rdb Processor, cluster stateReloader) *Reloader {
	return &Reloader{rdb: rdb, cluster: cluster}
}

// Process implements [Processor].
func (r *Reloader) Process(ctx context.Context, cmd redis.Cmder) error {
	err := r.rdb.Process(ctx, cmd)
	r.Learn(ctx, err)
	return err
}

// Learn notes how a command ended that may have gone past Process. A reload may be too early after the last
// one; then none comes now. A caller that still waits for an answer sends another command, and the reload comes
// with that one. A nil Reloader, which a Client without a Cluster has, learns nothing.
func (r *Reloader) Learn(ctx context.Context, err error) {
	if r == nil || !mayBeElsewhere(err) {
		return
	}
	if r.due(time.Now()) {
		r.cluster.ReloadState(ctx)
	}
}

func (r *Reloader) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.next) {
		return false
	}
	if now.Sub(r.next) > calmReload {
		r.pause = 0
	}
	r.pause = min(max(2*r.pause, firstReload), lastReload)
	// Jitter: all clients of a node lose it at the same time.
	r.next = now.Add(r.pause/2 + rand.N(r.pause/2+1))
	return true
}

// mayBeElsewhere reports whether a command may have failed because go-redis sent it to the wrong
// node: there was no answer, or one that says that this node does not serve the slot, or not now.
func mayBeElsewhere(err error) bool {
	if err == nil {
		return false
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		for _, code := range []string{"MOVED", "ASK", "READONLY", "MASTERDOWN", "CLUSTERDOWN"} {
			if redis.HasErrorPrefix(err, code) {
				return true
			}
		}
		return false
	}
	for _, own := range []error{redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted, context.Canceled} {
		if errors.Is(err, own) {
			return false
		}
	}
	return true
}

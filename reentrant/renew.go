package reentrant

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/hashslot"
	"github.com/redlatch/redlatch/internal/redisio"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// renewAtOnce is how many slots of a cluster are renewed at the same time.
const renewAtOnce = 16

// renewer renews for the watchdog: by one script for the whole batch. In a cluster a script may only
// touch one slot, so there is one script for each slot. Each such part is renewed by itself (lanes.go).
type renewer struct {
	pool      lua.Processor    // through the program's client
	detours   *redisio.Detours // past its pool; nil if there is no such way
	whole     bool             // detours leave out nothing but the pool
	clustered bool

	probing atomic.Int32   // lanes under way through a pool in trouble
	lanes   sync.WaitGroup // all lanes

	// trouble is by slot, or at 0 if there are none: how many tries in a row the pool has not answered.
	mu      sync.Mutex
	trouble map[int]int // guarded by mu
}

func newRenewer(pool lua.Processor, r reach, clustered bool) *renewer {
	return &renewer{pool: pool, detours: r.detours(), whole: r.whole, clustered: clustered, trouble: make(map[int]int)}
}

// renew implements [watchdog.RenewFunc].
func (r *renewer) renew(ctx context.Context, targets []watchdog.Target, lease time.Duration) []watchdog.Result {
	if !r.clustered {
		return r.renewPart(ctx, part{targets: targets, lease: lease})
	}
	slots := make(map[int][]int) // indices into targets
	for i, t := range targets {
		slot := hashslot.Of(t.Key)
		slots[slot] = append(slots[slot], i)
	}
	return r.renewSlots(ctx, targets, slots, lease)
}

// growth is how many batches one call may have. A call of several batches would only take longer where no
// pipelines are sent, as in a cluster.
func growth(p lua.Processor) int {
	if lua.Pipelines(p) {
		return 0 // as many as the watchdog thinks best
	}
	return 1
}

// renewSlots renews each slot by a script of its own, several at a time. It returns when ctx ends: one
// node that does not answer must not cost the locks on the others their renewal. A part without an answer
// by then has failed.
func (r *renewer) renewSlots(ctx context.Context, targets []watchdog.Target, slots map[int][]int, lease time.Duration) []watchdog.Result {
	type answer struct {
		indices []int
		results []watchdog.Result
	}
	// Room for all answers: a goroutine whose answer is late must be able to end.
	answers := make(chan answer, len(slots))
	room := make(chan struct{}, renewAtOnce)
	for slot, indices := range slots {
		go func() { // ends with ctx
			if !take(ctx, room) {
				return
			}
			defer func() { <-room }()
			p := part{slot: slot, targets: make([]watchdog.Target, len(indices)), lease: lease, alone: true}
			for i, index := range indices {
				p.targets[i] = targets[index]
			}
			// A panic in a hook is a failed renewal: guarded recovers it. The watchdog recovers it only on
			// goroutines of its own.
			answers <- answer{indices, r.renewPart(ctx, p)}
		}()
	}
	results := make([]watchdog.Result, len(targets))
	for range slots {
		select {
		case a := <-answers:
			for i, index := range a.indices {
				results[index] = a.results[i]
			}
		case <-ctx.Done():
			return results // the zero Result is a failure
		}
	}
	return results
}

// renewTogether renews all targets by one script, or by a pipeline of some. The error tells whether Redis
// answered.
func renewTogether(ctx context.Context, p lua.Processor, targets []watchdog.Target, lease time.Duration) ([]watchdog.Result, error) {
	owners := make([]lua.FieldOwner, len(targets))
	for i, t := range targets {
		owners[i] = lua.FieldOwner{Lock: t.Key, Owner: t.Owner, Next: t.Next}
		if t.Reads {
			k := lua.RWKeysOf(t.Key, "")
			owners[i].Marker, owners[i].Guard = k.Marker(t.Owner), t.Guard
		}
	}
	renewals, err := lua.Renew(ctx, p, owners, lease)
	if err == nil && len(renewals) < len(targets) {
		err = errors.New("no answer for some locks")
	}
	results := make([]watchdog.Result, len(targets))
	for i := range results {
		switch {
		case i < len(renewals) && renewals[i] == lua.Renewed:
			results[i].Outcome = watchdog.Renewed
		case i < len(renewals) && renewals[i] == lua.NotOwner:
			results[i].Outcome = watchdog.NotOwner
		default:
			results[i] = watchdog.Result{Outcome: watchdog.Failed, Err: err}
		}
	}
	return results, err
}

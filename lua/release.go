package lua

import (
	"context"
	"time"
)

// Wake says how a script that frees a lock wakes the next waiter.
type Wake struct {
	Publish string        // PUBLISH or SPUBLISH
	Pause   time.Duration // the free lock is kept for the woken client so long
	Counted bool          // PUBLISH answers how many received it; in a cluster it counts one node only
}

func (w Wake) args() (publish string, pause int64, counted int) {
	if w.Counted {
		counted = 1
	}
	return w.Publish, ms(w.Pause), counted
}

// Release frees a lock that Owner holds, whatever the hold count.
type Release struct {
	Owner string
	Order Order
	Wake  Wake
}

// Run sends the command. epochSet is false when Redis, being full, could not
// remember the epoch that was asked for.
func (r Release) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	publish, pause, counted := r.Wake.args()
	reply, err := releaseScript.run(ctx, p, []string{k.Lock, k.Epoch, k.Turn, k.Waiters},
		r.Owner, r.Order.Number, ms(r.Order.Epoch), k.Channel, publish, pause, counted)
	if err != nil {
		return 0, false, err
	}
	return verdict(number(reply, 0)), number(reply, 1) == 1, nil
}

// Leave takes a client out of the registry of waiters and passes on a wake-up
// that it was given.
func Leave(ctx context.Context, p Processor, k *Keys, client string, w Wake) error {
	publish, pause, counted := w.args()
	_, err := leaveScript.runNumber(ctx, p, []string{k.Lock, k.Turn, k.Waiters},
		client, k.Channel, publish, pause, counted)
	return err
}

// Force frees the lock whoever holds it and reports whether anybody did.
func Force(ctx context.Context, p Processor, k *Keys, w Wake) (bool, error) {
	publish, pause, counted := w.args()
	freed, err := forceScript.runNumber(ctx, p, []string{k.Lock, k.Turn, k.Waiters},
		k.Channel, publish, pause, counted)
	return freed == 1, err
}

// Inspection is the state of a lock in Redis.
type Inspection struct {
	Held   bool
	TTL    time.Duration // left; NoTTL when the key never expires; 0 when free
	Count  int           // holds of the owner asked for
	Holder string
}

// Inspect reads the lock from the master.
func Inspect(ctx context.Context, p Processor, k *Keys, owner string) (Inspection, error) {
	r, err := inspectScript.run(ctx, p, []string{k.Lock}, owner)
	if err != nil {
		return Inspection{}, err
	}
	left := number(r, 0)
	if left == -2 {
		return Inspection{}, nil
	}
	return Inspection{Held: true, TTL: ttl(left), Count: int(number(r, 1)), Holder: text(r, 2)}, nil
}

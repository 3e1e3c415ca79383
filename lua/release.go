package lua

import (
	"context"
	"time"
)

// Wake sets how a script that frees a lock wakes the next waiter.
type Wake struct {
	Publish string        // PUBLISH; or SPUBLISH, which becomes PUBLISH at a node without sharded pub/sub
	Pause   time.Duration // for how long the free lock is kept for the woken client
	Yield   time.Duration // or for clients of Redisson, if any wait
	Counted bool          // the command and PUBSUB count all subscribers; PUBLISH in a cluster does not
}

// add appends the last arguments of every script that wakes: the lock's common channel, the
// listeners' channel, and how these are used.
func (w Wake) add(args []any, channel, listeners string) []any {
	return append(args, channel, listeners, w.Publish, ms(w.Pause), ms(w.Yield), flag(w.Counted))
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// Release frees a lock that Owner holds, whatever the hold count.
type Release struct {
	Owner string
	Order Order
	Wake  Wake
}

func (r *Release) line(k *Keys) []any {
	n := k.several(epochs, turns, waiters, channels, listeners)
	line := append(releaseScript.line(9, k.Lock, n[0], n[1], n[2]), r.Owner, r.Order.Number, ms(r.Order.Epoch))
	return r.Wake.add(line, n[3], n[4])
}

// Run sends the command. epochSet is false if an epoch was asked for and Redis, being full, could not
// remember it.
func (r Release) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	reply, err := releaseScript.runLine(ctx, p, r.line(k))
	if err != nil {
		return 0, false, err
	}
	v = verdict(number(reply, 0))
	return v, r.Order.Epoch > 0 && v != Stale && number(reply, 1) == 0, nil
}

// Leave takes a client out of the registry of waiters. If the client was woken, Leave passes the
// wake-up on.
func Leave(ctx context.Context, p Processor, k *Keys, client string, w Wake) error {
	n := k.several(turns, waiters, channels, listeners)
	_, err := leaveScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1]}, w.add([]any{client}, n[2], n[3])...)
	return err
}

// Force frees the lock whoever holds it, and reports whether there was a holder.
func Force(ctx context.Context, p Processor, k *Keys, w Wake) (bool, error) {
	n := k.several(turns, waiters, channels, listeners)
	freed, err := forceScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1]}, w.add(nil, n[2], n[3])...)
	return freed == 1, err
}

// Inspection is the state of a lock in Redis.
type Inspection struct {
	Held   bool
	TTL    time.Duration // left; NoTTL when the key never expires; 0 when free
	Count  int           // the hold count of the owner that was asked for
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

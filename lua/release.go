package lua

import (
	"context"
	"time"
)

// Wake sets how a script that frees a lock passes it on: it grants it to the client that has waited longest,
// or wakes that client.
type Wake struct {
	Publish string        // PUBLISH; or SPUBLISH, which becomes PUBLISH at a node without sharded pub/sub
	Pause   time.Duration // for how long the free lock is kept for the woken client
	Yield   time.Duration // or for clients of Redisson, if any wait
	Counted bool          // the command and PUBSUB count all subscribers; PUBLISH in a cluster does not
}

// add appends the last arguments of every script that wakes: the lock's common channel, the
// listeners' channel, and how these are used.
func (w Wake) add(args []any, channel, listeners string) []any {
	return append(args, channel, listeners, w.publish(), ms(w.Pause), ms(w.Yield), flag(w.Counted))
}

// publish is the command as an argument. A constant is one without an allocation.
func (w Wake) publish() any {
	switch w.Publish {
	case "PUBLISH":
		return "PUBLISH"
	case "SPUBLISH":
		return "SPUBLISH"
	}
	return w.Publish
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// Release frees a lock that Owner holds, whatever the hold count.
type Release struct {
	Owner   string
	Order   Order
	Wake    Wake
	Fencing bool // the owner has a token: the next one may be granted the lock with a token, too
}

func (r *Release) line(k *Keys) []any {
	n := k.several(epochs, turns, waiters, grants, channels, listeners)
	keys := append(make([]string, 0, 6), k.Lock, n[0], n[1], n[2], n[3])
	if r.Fencing {
		keys = append(keys, k.Token())
	}
	line := append(releaseScript.line(9, keys...), r.Owner, r.Order.Number, ms(r.Order.Epoch))
	return r.Wake.add(line, n[4], n[5])
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

// Leave takes a client out of the registry of waiters. If the client was woken or granted the lock, the
// next one gets that instead.
type Leave struct {
	Client string
	Owners []string // of the client, to whom a release may have granted the lock
	Order  Order
	Wake   Wake
}

// Run sends the command. v is Done, or Stale.
func (l Leave) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, err error) {
	n := k.several(epochs, turns, waiters, grants, channels, listeners)
	args := l.Wake.add([]any{l.Client, l.Order.Number, ms(l.Order.Epoch)}, n[4], n[5])
	for _, owner := range l.Owners {
		args = append(args, owner)
	}
	answer, err := leaveScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2], n[3]}, args...)
	switch {
	case err != nil:
		return 0, err
	case answer < 0:
		return Stale, nil
	}
	return Done, nil
}

// Force frees the lock whoever holds it, and reports whether there was a holder.
func Force(ctx context.Context, p Processor, k *Keys, w Wake) (bool, error) {
	n := k.several(turns, waiters, grants, channels, listeners)
	freed, err := forceScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2]}, w.add(nil, n[3], n[4])...)
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

package lua

import (
	"context"
	"fmt"
	"time"
)

// Wake sets how a script that frees a lock passes it on: it grants it to the client that has waited longest,
// or wakes that client. It is made once for many commands.
type Wake struct {
	how any // the argument of the scripts (redisson.lua), a string
}

// NewWake makes a Wake:
//
//   - publish is PUBLISH; or SPUBLISH, which becomes PUBLISH at a node without sharded pub/sub.
//   - pause is for how long the free lock is kept for a woken client, and yield is that for clients of Redisson, if
//     any wait.
//   - counted says that the command and PUBSUB count all subscribers. PUBLISH in a cluster does not.
func NewWake(publish string, pause, yield time.Duration, counted bool) Wake {
	return Wake{how: fmt.Sprintf("%s %d %d %d", publish, ms(pause), ms(yield), flag(counted))}
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
	n := k.several(epochs, turns, waiters, grants, channels)
	keys := append(make([]string, 0, 6), k.Lock, n[0], n[1], n[2], n[3])
	if r.Fencing {
		keys = append(keys, k.Token())
	}
	return append(releaseScript.line(5, keys...), r.Owner, r.Order.Number, ms(r.Order.Epoch), n[4], r.Wake.how)
}

// Run sends the command. epochSet is false if an epoch was asked for and Redis, being full, could not
// remember it.
func (r Release) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	reply, err := releaseScript.runLine(ctx, p, r.line(k))
	return r.freed(reply, err)
}

// Launch begins to send the command, and returns nil if it does not. [Flight.Freed] has the result.
func (r Release) Launch(ctx context.Context, by Launcher, k *Keys) *Flight {
	return launch(ctx, by, r.line(k))
}

func (r *Release) freed(reply []any, err error) (v Verdict, epochSet bool, _ error) {
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
	n := k.several(epochs, turns, waiters, grants, channels)
	args := []any{l.Client, l.Order.Number, ms(l.Order.Epoch), n[4], l.Wake.how}
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

// Force frees the lock from any holder, and reports whether there was a holder. With a holder, which is a field of the
// hash, it takes the lock from that one only.
func Force(ctx context.Context, p Processor, k *Keys, w Wake, holder string) (bool, error) {
	n := k.several(turns, waiters, grants, channels)
	freed, err := forceScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2]}, only(holder, n[3], w.how)...)
	return freed == 1, err
}

// only adds the only holder that a script is to take the lock from, if there is one.
func only(holder string, args ...any) []any {
	if holder == "" {
		return args
	}
	return append(args, holder)
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
	return inspection(inspectScript.run(ctx, p, []string{k.Lock}, owner))
}

func inspection(r []any, err error) (Inspection, error) {
	if err != nil {
		return Inspection{}, err
	}
	left := number(r, 0)
	if left == -2 {
		return Inspection{}, nil
	}
	return Inspection{Held: true, TTL: ttl(left), Count: int(number(r, 1)), Holder: text(r, 2)}, nil
}

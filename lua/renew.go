package lua

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Renewal is Redis' answer for one lock of a batch.
type Renewal int

const (
	Renewed  Renewal = iota
	NotOwner         // the owner does not hold the lock (any more)
	Refused          // Redis refused; the error says why
)

// FieldOwner names the owner that must hold the lock at Lock: Owner or, while the client is handing
// the lock over, Next.
type FieldOwner struct{ Lock, Owner, Next string }

// renewTogether is how many locks one script renews at most: it takes Redis 1 to 4 ms, in which Redis
// serves no other client.
const renewTogether = 500

// Renew extends the locks to lease, each for its owner; in a cluster all must be in one slot. More
// than 500 are sent as several scripts. They go in one pipeline if p can send one ([Pipelines]),
// otherwise one after another: Redis serves other clients between them. The error tells why entries
// were refused, the first one if there are several. An entry whose script has no reply is Refused.
// Without any reply there are no entries.
func Renew(ctx context.Context, p Processor, owners []FieldOwner, lease time.Duration) ([]Renewal, error) {
	var batches []*invocation
	for part := range slices.Chunk(owners, renewTogether) {
		locks := make([]string, len(part))
		args := make([]any, 0, 1+2*len(part))
		args = append(args, ms(lease))
		for i, t := range part {
			locks[i] = t.Lock
			args = append(args, t.Owner, t.Next)
		}
		batches = append(batches, &invocation{keys: locks, args: args})
	}
	renewScript.runAll(ctx, p, batches)

	renewals, replied, refused := make([]Renewal, 0, len(owners)), 0, error(nil)
	for _, b := range batches {
		part, err := b.renewals()
		if part != nil {
			replied++
		}
		if refused == nil {
			refused = err
		}
		for range len(b.keys) - len(part) {
			part = append(part, Refused)
		}
		renewals = append(renewals, part...)
	}
	if replied == 0 {
		return nil, refused
	}
	return renewals, refused
}

// renewals reads the reply to one script.
func (b *invocation) renewals() ([]Renewal, error) {
	r, err := reply(b.cmd)
	if err != nil {
		return nil, err
	}
	if len(r) < len(b.keys) {
		return nil, fmt.Errorf("renew: %d replies for %d locks", len(r), len(b.keys))
	}
	renewals := make([]Renewal, len(b.keys))
	for i := range renewals {
		switch number(r, i) {
		case 1:
			renewals[i] = Renewed
		case 0:
			renewals[i] = NotOwner
		default:
			renewals[i] = Refused
		}
	}
	if len(r) > len(b.keys) {
		err = refusal(text(r, len(b.keys)))
	}
	return renewals, err
}

// refusal is an error reply that arrived inside the reply of a script.
type refusal string

func (e refusal) Error() string { return string(e) }

// RedisError makes it a [redis.Error]: Redis did answer.
func (e refusal) RedisError() {}

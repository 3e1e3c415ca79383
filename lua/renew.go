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
// the lock over, Next. A reader of a read-write lock has a Marker and no Next. With Guard the lease of the reader
// is what its marker has left: the lock is made to live as long, and not renewed.
type FieldOwner struct {
	Lock, Owner, Next, Marker string
	Guard                     bool
}

// renewTogether is how many locks one script renews at most: it takes Redis 1 to 4 ms, in which Redis
// serves no other client.
const renewTogether = 500

// Renew extends the locks to lease, each for its owner; in a cluster all must be in one slot. More
// than 500 are sent as several scripts. They go in one pipeline if p can send one ([Pipelines]),
// otherwise one after another: Redis serves other clients between them. The error tells why entries
// were refused, the first one if there are several. An entry whose script has no reply is Refused.
// Without any reply there are no entries.
func Renew(ctx context.Context, p Processor, owners []FieldOwner, lease time.Duration) ([]Renewal, error) {
	batches, places := renewalBatches(owners, lease)
	runAll(ctx, p, batches)

	renewals, replied, refused := make([]Renewal, len(owners)), 0, error(nil)
	for i, b := range batches {
		part, err := b.renewals()
		if part != nil {
			replied++
		}
		if refused == nil {
			refused = err
		}
		for n, place := range places[i] {
			renewals[place] = Refused
			if n < len(part) {
				renewals[place] = part[n]
			}
		}
	}
	if replied == 0 {
		return nil, refused
	}
	return renewals, refused
}

// renewalBatches are the scripts that renew the owners. places are the indices of each batch's owners.
func renewalBatches(owners []FieldOwner, lease time.Duration) (batches []*invocation, places [][]int) {
	var guarded, readers, rest []int
	for i, t := range owners {
		switch {
		case t.Marker != "" && t.Guard:
			guarded = append(guarded, i)
		case t.Marker != "":
			readers = append(readers, i)
		default:
			rest = append(rest, i)
		}
	}
	for part := range slices.Chunk(rest, renewTogether) {
		b := &invocation{script: renewScript, of: len(part), keys: make([]string, len(part)), args: make([]any, 0, 1+2*len(part))}
		b.args = append(b.args, ms(lease))
		for i, n := range part {
			b.keys[i] = owners[n].Lock
			b.args = append(b.args, owners[n].Owner, owners[n].Next)
		}
		batches, places = append(batches, b), append(places, part)
	}
	for part := range slices.Chunk(readers, readersTogether) {
		batches, places = append(batches, readRenewal(pick(owners, part), lease)), append(places, part)
	}
	for part := range slices.Chunk(guarded, readersTogether) {
		batches, places = append(batches, readRenewal(pick(owners, part), 0)), append(places, part)
	}
	return batches, places
}

func pick(owners []FieldOwner, places []int) (picked []FieldOwner) {
	for _, n := range places {
		picked = append(picked, owners[n])
	}
	return picked
}

// renewals reads the reply to one script.
func (b *invocation) renewals() ([]Renewal, error) {
	r, err := reply(b.cmd)
	if err != nil {
		return nil, err
	}
	if len(r) < b.of {
		return nil, fmt.Errorf("renew: %d replies for %d locks", len(r), b.of)
	}
	renewals := make([]Renewal, b.of)
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
	if len(r) > b.of {
		err = refusal(text(r, b.of))
	}
	return renewals, err
}

// refusal is an error reply that arrived inside the reply of a script.
type refusal string

func (e refusal) Error() string { return string(e) }

// RedisError makes it a [redis.Error]: Redis did answer.
func (e refusal) RedisError() {}

package lua

import (
	"context"
	"fmt"
	"time"
)

// Renewal is Redis' answer for one lock of a batch.
type Renewal int

const (
	Renewed  Renewal = iota
	NotOwner         // the owner does not hold the lock (any more)
	Refused          // Redis refused; the error says why
)

// Tenant says who must be found to hold the lock at Lock: Owner or, while the client is
// handing it over, Heir.
type Tenant struct{ Lock, Owner, Heir string }

// Renew extends the locks to lease, each for its owner; in a cluster all must be
// in one slot. The error tells why entries were refused; without a reply there
// are no entries.
func Renew(ctx context.Context, p Processor, tenants []Tenant, lease time.Duration) ([]Renewal, error) {
	locks := make([]string, len(tenants))
	args := make([]any, 0, 1+2*len(tenants))
	args = append(args, ms(lease))
	for i, t := range tenants {
		locks[i] = t.Lock
		args = append(args, t.Owner, t.Heir)
	}
	r, err := renewScript.run(ctx, p, locks, args...)
	if err != nil {
		return nil, err
	}
	if len(r) < len(locks) {
		return nil, fmt.Errorf("renew: %d replies for %d locks", len(r), len(locks))
	}
	renewals := make([]Renewal, len(locks))
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
	if len(r) > len(locks) {
		err = refusal(text(r, len(locks)))
	}
	return renewals, err
}

// refusal is an error reply that arrived inside the reply of a script.
type refusal string

func (e refusal) Error() string { return string(e) }

// RedisError makes it a [redis.Error]: Redis did answer.
func (e refusal) RedisError() {}

package lua

import (
	"context"
	"time"
)

// Order is the number, and the epoch if one is needed, of a command that changes a lock.
type Order struct {
	Number uint64        // rises with every command of the client, below 2^53
	Epoch  time.Duration // for how long to remember Number as the epoch; 0: do not
}

// Acquire asks for a free lock.
type Acquire struct {
	Owner  string // begins with the client's id and a colon
	Lease  time.Duration
	Order  Order
	Client string
	// How long the registry of waiters is to live if the lock is busy; 0: do not register.
	Register      time.Duration
	Since         int64 // arrival, as an earlier reply gave it; 0: now; MaybeRegistered
	Fencing       bool
	AfterRedisson bool // the last release that the client heard of was Redisson's

	// Nonce has a release grant the lock to the owner, if it is busy now and the client registers: the
	// release publishes the nonce, and the lock is the owner's for Claim. Empty: a release wakes the client.
	Nonce string
	Claim time.Duration
	// Departed are owners of the client that do not wait any more, and to whom a release may have granted
	// the lock. Owner gets it then.
	Departed []string

	ReadersFirst bool // of a read-write lock: no reader waits for a writer that waits

	// Joins asks whether one more reader may use the field that the client has already (RWAcquire). The answer
	// is NotHeld if it has not. Wake says how Redisson's waiters are counted then.
	Joins bool
	Wake  Wake

	InLine *InLine // of a fair lock
}

// MaybeRegistered stands for the arrival of a client that asked to be registered and got no answer.
const MaybeRegistered = -1

// Granted is the answer to Acquire, Transfer and Count.
type Granted struct {
	Verdict Verdict
	Token   int64         // with fencing
	TTL     time.Duration // of the lock when Busy; NoTTL when it has none
	Holder  string        // when Busy; empty while a free lock is kept
	Yielded bool          // when Busy: the free lock is kept for Redisson
	Since   int64         // arrival in the registry, for the next Acquire
	Rank    int           // how many registered clients came before

	RedissonAhead bool // when Busy, of a fair lock: a thread of Redisson is ahead in the line

	Others          int // from Transfer: clients in the registry of waiters
	RedissonWaiters int // from Transfer, and from an Acquire that Joins: clients of Redisson that wait; -1 if they cannot be counted
}

// Verdict is what a script did with a command.
type Verdict int

const (
	Busy     Verdict = iota // Acquire: another owner holds the lock, or it is kept for another client
	Done                    // as asked
	NotHeld                 // the owner does not hold the lock
	Stale                   // a later command came first, so nothing was changed
	PassedOn                // Transfer of a fair lock: it is free, for another one that came first
)

// NoTTL stands for the TTL of a key that never expires.
const NoTTL = time.Duration(-1)

// line is short if there is nothing but the owner to tell, as in most attempts.
func (a *Acquire) line(k *Keys) []any {
	if a.Register == 0 && a.Since == 0 && !a.AfterRedisson && !a.Fencing && len(a.Departed) == 0 {
		n := k.several(epochs, turns)
		return append(acquireScript.line(4, k.Lock, n[0], n[1]), a.Owner, ms(a.Lease), a.Order.Number, ms(a.Order.Epoch))
	}
	n := k.several(epochs, turns, waiters, grants)
	keys := append(make([]string, 0, 6), k.Lock, n[0], n[1], n[2], n[3])
	if a.Fencing {
		keys = append(keys, k.Token())
	}
	line := append(acquireScript.line(10+len(a.Departed), keys...),
		a.Owner, ms(a.Lease), a.Order.Number, ms(a.Order.Epoch), a.Client, ms(a.Register), a.Since, flag(a.AfterRedisson),
		a.Nonce, ms(a.Claim))
	for _, owner := range a.Departed {
		line = append(line, owner)
	}
	return line
}

// Run sends the command.
func (a Acquire) Run(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	return acquired(acquireScript.runLine(ctx, p, a.line(k)))
}

// Launch begins to send the command, and returns nil if it does not. [Flight.Acquired] has the result.
func (a Acquire) Launch(ctx context.Context, by Launcher, k *Keys) *Flight {
	return launch(ctx, by, a.line(k))
}

func acquired(r []any, err error) (Granted, error) {
	if err != nil {
		return Granted{}, err
	}
	switch code := number(r, 0); code {
	case 1:
		return Granted{Verdict: Done, Token: number(r, 1), RedissonWaiters: int(number(r, 2))}, nil
	case -2:
		return Granted{Verdict: NotHeld}, nil
	case 0:
		g := Granted{Verdict: Busy, TTL: ttl(number(r, 1)), Holder: text(r, 2), Since: number(r, 3), Rank: int(number(r, 4))}
		if g.Holder == "*" {
			g.Holder, g.Yielded = "", true
		}
		return g, nil
	default:
		return Granted{Verdict: Stale}, nil
	}
}

// Transfer hands the lock over within one client.
type Transfer struct {
	From, To string
	Lease    time.Duration // of To
	Order    Order
	Fencing  bool
	Wake     Wake    // how waiters are told; Transfer uses only how Redisson's are counted
	InLine   *InLine // of a fair lock
}

func (t *Transfer) line(k *Keys) []any {
	n := k.several(epochs, waiters, channels)
	keys := append(make([]string, 0, 4), k.Lock, n[0], n[1])
	if t.Fencing {
		keys = append(keys, k.Token())
	}
	return append(transferScript.line(7, keys...),
		t.From, t.To, ms(t.Lease), t.Order.Number, ms(t.Order.Epoch), n[2], t.Wake.how)
}

// Run sends the command.
func (t Transfer) Run(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	r, err := transferScript.runLine(ctx, p, t.line(k))
	if err != nil {
		return Granted{}, err
	}
	return Granted{Verdict: verdict(number(r, 0)), Token: number(r, 1), Others: int(number(r, 2)), RedissonWaiters: int(number(r, 3))}, nil
}

// Count sets the hold count of an owner that holds the lock.
type Count struct {
	Owner string
	Count int
	Lease time.Duration // the TTL is raised to it, never lowered; 0: left as it is
	Order Order
}

// Run sends the command.
func (c Count) Run(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	r, err := countScript.runLine(ctx, p, append(countScript.line(5, k.Lock, k.Epoch()),
		c.Owner, c.Count, ms(c.Lease), c.Order.Number, ms(c.Order.Epoch)))
	if err != nil {
		return Granted{}, err
	}
	return Granted{Verdict: verdict(number(r, 0))}, nil
}

func verdict(code int64) Verdict {
	switch code {
	case 1:
		return Done
	case 0:
		return NotHeld
	default:
		return Stale
	}
}

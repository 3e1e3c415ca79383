package reentrant

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

const (
	defaultLease = 30 * time.Second
	// maxLease keeps every sum of an instant and a lease far from overflow.
	maxLease = 100 * 365 * 24 * time.Hour
)

// Option configures a [Client].
type Option func(*config) error

type config struct {
	lease     time.Duration
	prefix    string
	logger    *slog.Logger
	logged    bool // WithLogger was given
	events    Events
	evented   bool // WithEvents was given
	maxHold   time.Duration
	replicas  int
	ackWithin time.Duration
	handoff   Handoff

	queueTimeout time.Duration

	clientName  string
	plainPubSub bool
}

// WithLease sets the lease of renewed holds: how long a lock outlives its process. The Client renews a
// lock every third of it. The default is 30 s, Redisson's lockWatchdogTimeout. It is 1 ms to 100 years,
// otherwise [ErrInvalidLease]. Below about 300 ms a pause of the garbage collector or the network is a
// lost lock. Below 3 ms nothing is left of the lease after 1 % and 2 ms for clock drift, so no lock is
// ever granted.
func WithLease(lease time.Duration) Option {
	return func(c *config) error {
		c.lease = lease
		return checkLease(lease)
	}
}

// WithPrefix puts a prefix before every name: the key is prefix + name, and the other keys and the
// channels are made from that. The default is none. A prefix has at most 511 bytes of valid UTF-8 without
// control characters, and its braces, if any, form one whole hash tag, as in "{app}:". Any other prefix
// is [ErrInvalidOption].
func WithPrefix(prefix string) Option {
	return func(c *config) error {
		c.prefix = prefix
		if len(prefix) >= maxName {
			return fmt.Errorf("%w: prefix has %d bytes, at most %d", ErrInvalidOption, len(prefix), maxName-1)
		}
		return checkText(ErrInvalidOption, prefix)
	}
}

// WithLogger sends log records to logger: lost locks as errors; renewals that failed, and releases that
// are not confirmed, as warnings; the rest of [Events] as debug. The attributes are lock, kind, owner, holder,
// holder_name, from, how, count, token, waited, held, locks and error, each where it has a value. A nil logger
// logs nothing.
//
// Without the option losses and failed renewals, which no call may ever return, go to [slog.Default],
// with the same text and attributes. There are at most ten lines a minute about losses and one a minute
// about renewals. The attribute unlogged says how many losses or failed renewals before got no line.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		c.logger, c.logged = logger, true
		return nil
	}
}

// WithEvents calls the given functions. The default is none. If the option is given more than once, it
// adds: of each kind all functions are called, in the order of the options, also if one before has
// panicked.
func WithEvents(events Events) Option {
	return func(c *config) error {
		c.events = c.events.and(events)
		c.evented = true
		return nil
	}
}

// WithMaxHold ends renewal when a hold is that old, counted from its grant. The lock is then lost when
// the lease runs out, at most one lease later. Re-entry does not extend the lease any more by then. The
// option is for a goroutine that hangs with the lock: the watchdog renews as long as the process lives,
// not as long as the work makes progress. The default, 0, is no limit. A negative one, and more than 100
// years, are [ErrInvalidOption].
func WithMaxHold(limit time.Duration) Option {
	return func(c *config) error {
		c.maxHold = limit
		if limit < 0 || limit > maxLease {
			return fmt.Errorf("%w: max hold %v", ErrInvalidOption, limit)
		}
		return nil
	}
}

// WithReplicaAcks grants a lock only when n replicas confirm within timeout that they have it (WAIT, on
// the connection that took it). Otherwise the Client gives it back, and the call returns [ErrReplicas].
// The option narrows, and does not close, the window in which a failover forgets a lock. The timeout is
// part of every acquisition.
//
// n is at least 1; timeout is at least 1 ms and less than a third of the lease of [WithLease]. Anything
// else is [ErrInvalidOption]. The timeout must also be shorter than go-redis' ReadTimeout, which the
// Client does not check.
func WithReplicaAcks(n int, timeout time.Duration) Option {
	return func(c *config) error {
		c.replicas, c.ackWithin = n, timeout
		if n < 1 || timeout < time.Millisecond {
			return fmt.Errorf("%w: %d replicas within %v", ErrInvalidOption, n, timeout)
		}
		return nil
	}
}

// Handoff says to whom a released lock goes.
type Handoff int

const (
	// Confirmed, the default, hands a released lock to the next waiter of the same Client by one script.
	// The new holder starts when Redis has confirmed. While waiters of other Clients are registered,
	// there are at most 16 hand-offs in a row, or up to 256 within 2 ms.
	Confirmed Handoff = iota
	// Remote frees the lock in Redis at every release, so Clients take turns of one holder each. It is
	// slower, and fairer between processes.
	Remote
	// WriteBehind hands a released lock to the next waiter of the same Client at once, on the lease that
	// is held and confirmed. The field in Redis is synced later. See [WithHandoff].
	WriteBehind
)

// WithHandoff chooses the mode of hand-off. The default is [Confirmed].
//
// With [WriteBehind] a hand-off inside the Client costs no round trip. The next holder starts on the
// lease of the one before, which Redis has confirmed and the watchdog goes on renewing; [Hold.ValidUntil]
// means what it always means. For other Clients this Client holds the lock all the while. But Redis may
// name another of its owners. The Client moves the field in the hash to the present holder within about 5
// ms and a round trip, and owners that have come and gone meanwhile never appear. So a reader of the hash
// (an operator, Redisson's isHeldByThread or getHoldCount) may see an owner that has released the lock a
// moment ago. The Client's own IsHeld and HoldCount sync the field first.
//
// A release that hands the lock over so returns nil without having asked Redis, also if Redis had
// forgotten the lock by then. The next holder finds that out, at its first renewal or release.
//
// A hand-off is confirmed all the same when the lock has fencing, or when either hold has a fixed lease. So it is when
// replicas are asked, and when less than a third of the lease is left. A [ReadWriteLock] is never handed over: each
// release goes through Redis, with any mode. While other Clients wait, the hand-offs in a row are bounded as with
// Confirmed. If another Client comes while none was known to wait, it waits up to 10 ms longer.
func WithHandoff(mode Handoff) Option {
	return func(c *config) error {
		c.handoff = mode
		if mode < Confirmed || mode > WriteBehind {
			return fmt.Errorf("%w: hand-off mode %d", ErrInvalidOption, mode)
		}
		return nil
	}
}

// newConfig applies the options. It checks the timeout of WithReplicaAcks at the end: the lease may be
// given after it.
func newConfig(opts []Option) (config, error) {
	c := config{lease: defaultLease, queueTimeout: defaultQueueTimeout}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return c, err
		}
	}
	if c.replicas > 0 && c.ackWithin >= c.lease/3 {
		return c, fmt.Errorf("%w: waiting %v for replicas takes a third of the lease %v or more", ErrInvalidOption, c.ackWithin, c.lease)
	}
	return c, nil
}

func checkLease(lease time.Duration) error {
	if lease < time.Millisecond || lease > maxLease {
		return fmt.Errorf("%w: %v, must be 1ms to %v", ErrInvalidLease, lease, maxLease)
	}
	return nil
}

// LockOption configures a [Lock].
type LockOption func(*Lock)

// WithFencing gives every new holder a token greater than all before it. With the token the resource can
// refuse writes that carry an older one ([Hold.Token]). Re-entry keeps the token. All clients that share
// the lock must use the option, Redisson's as RFencedLock. Tokens rise as long as the counter in Redis
// survives or Redis' clock does not go back; they leave gaps.
//
// A token is about the microseconds since 1970, so it needs 64 bits: a column BIGINT NOT NULL DEFAULT 0
// for one. The resource refuses by the condition of the write, which then changes 0 rows: take that for
// an error, not for success.
//
// The counter has no TTL: each name that was ever fenced leaves one small key in Redis for ever.
func WithFencing() LockOption {
	return func(l *Lock) { l.fencing = true }
}

// AcquireOption configures one [Lock.Acquire], or all acquisitions by [Lock.With].
type AcquireOption func(*multi.Terms) error

// WithWait limits how long [Lock.Acquire] waits, or each call by [Lock.With]. At the limit the call
// returns [ErrNotAcquired], also while Redis is silent, and [ErrBusy] as well if another owner has the
// lock. With 0 or less the call sends one command, which it does not repeat, and waits 500 ms for the
// answer, as in [Lock.TryLock]. Without the option the wait ends as the wait of [Lock.Lock] does.
func WithWait(limit time.Duration) AcquireOption {
	return func(t *multi.Terms) error {
		t.Limited, t.Wait = true, limit
		return nil
	}
}

// WithFixedLease makes a hold that is never renewed and ends with the lease. It is 1 ms to 100 years;
// otherwise the call returns [ErrInvalidLease].
func WithFixedLease(lease time.Duration) AcquireOption {
	return func(t *multi.Terms) error {
		t.Lease = lease
		return checkLease(lease)
	}
}

// WithPlainPubSub makes the Client use PUBLISH and SUBSCRIBE in a Cluster, too, as Redisson does with
// shardedSubscriptionMode OFF and before 3.22. All clients of a lock must do the same, or they do not
// hear each other's releases. The default is Redisson's default: SPUBLISH and SSUBSCRIBE where the
// servers answer PUBSUB SHARDNUMSUB, as they do since Redis 7. Outside a Cluster the option changes
// nothing.
func WithPlainPubSub() Option {
	return func(c *config) error {
		c.plainPubSub = true
		return nil
	}
}

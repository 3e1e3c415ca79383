package reentrant

import "sync/atomic"

// Stats is what a [Client] has done since it was made, and what it holds now. The locks that
// [Client.Check] takes count too.
type Stats struct {
	Held          int // locks held or being released now, nested holds counted once
	Waiting       int // calls that wait for a lock now, calls that are asking Redis included
	Subscriptions int // channels subscribed now, or within the last second

	Acquired      uint64 // locks granted, hand-offs included, nested holds not
	NotAcquired   uint64 // calls that ended without the lock, for whatever reason
	Busy          uint64 // of these, calls that ended with ErrBusy: another owner had the lock
	HandedOver    uint64 // hand-offs within the Client
	Shared        uint64 // reads that began without a command, on a lease that other reads of the Client have
	Granted       uint64 // locks that a release has granted; all other locks come from commands of this Client
	Renewals      uint64 // renewals that Redis confirmed, one a lock, and one for all readers that share a lease
	RenewFailures uint64 // renewals that failed, one a lock and try; tried again while the lease lasts
	Losses        uint64 // locks lost, each once, also if a release or a nested call found it
	WakeUps       WakeUps
}

// WakeUps counts why waiters tried again. Of the callers that wait for a lock in one Client only the
// first tries, so a crowd of waiters counts no more than one.
type WakeUps struct {
	Message    uint64 // a release woke this client, or granted it the lock: then it does not try
	TTL        uint64 // the holder's lease was over
	Poll       uint64 // the bounded poll: no message came, for 1 s at first, later for 5 s
	Subscribed uint64 // the subscription was confirmed, or renewed
}

// Stats returns a snapshot. It costs a few atomic loads and no I/O. Its figures are not taken at one
// instant.
func (c *Client) Stats() Stats {
	renewal := c.watchdog.Stats()
	return Stats{
		Held:          int(c.held.Load() - c.roots.Load()),
		Waiting:       int(c.counters.waiting.Load()),
		Subscriptions: c.hub.Channels(),
		Acquired:      c.counters.acquired.Load(),
		NotAcquired:   c.counters.notAcquired.Load(),
		Busy:          c.counters.busy.Load(),
		HandedOver:    c.counters.handedOver.Load(),
		Shared:        c.counters.shared.Load(),
		Granted:       c.counters.granted.Load(),
		Renewals:      renewal.Renewals,
		RenewFailures: renewal.Failures,
		Losses:        c.counters.losses.Load(),
		WakeUps: WakeUps{
			Message:    c.counters.wakeUps[byMessage].Load(),
			TTL:        c.counters.wakeUps[byTTL].Load(),
			Poll:       c.counters.wakeUps[byPoll].Load(),
			Subscribed: c.counters.wakeUps[bySubscription].Load(),
		},
	}
}

type counters struct {
	waiting     atomic.Int64
	acquired    atomic.Uint64
	notAcquired atomic.Uint64
	busy        atomic.Uint64
	handedOver  atomic.Uint64
	shared      atomic.Uint64
	granted     atomic.Uint64
	losses      atomic.Uint64
	wakeUps     [4]atomic.Uint64 // indexed by cause
}

// cause is why a waiter tries again.
type cause int8

const (
	byMessage cause = iota
	byTTL
	byPoll
	bySubscription
)

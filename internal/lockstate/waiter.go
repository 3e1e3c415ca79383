package lockstate

import "time"

// Request is what a call asks for.
type Request struct {
	Owner   string // the owner's field in the lock's hash
	AnyCall bool   // other calls may act for the same owner at the same time
	Mode    Mode

	// SharedField is the field that Shared owners of this Client have together, on one lease. Empty: the
	// owner has a field of its own. It is for renewed holds.
	SharedField string

	Sibling  string        // the field of the same owner in the other mode; empty if a lock has one mode
	Guarded  bool          // another client may shorten the key's time to live: fixed leases are looked after, too
	HoldKind               // of the hold that it gets
	Fencing  bool          // it wants a fencing token
	Lease    time.Duration // to ask for
	Single   bool          // it makes one attempt, and does not wait
	Once     bool          // its attempt is not repeated, also if it fails
	Began    time.Time
}

// Waiter is one call in the wait queue.
type Waiter struct {
	Request
	Call   Call   // the engine sets it before the waiter is used
	Ticket string // in the line of a fair lock; the engine sets it before the waiter is used

	state          WaiterState
	led            bool       // it was promoted once
	admitted       bool       // to the shared lease, by the answer to another waiter's attempt
	unknownOutcome bool       // a command that would make it an owner has an unknown outcome
	ownership      *Ownership // when granted
	handedBy       *Ownership // the ownership that handed the lock over to it
	refusal        error      // the call's error, in the state refused
	patience       patience   // what it has borne of an outage
	place          place      // of its ticket
	prev, next     *Waiter    // in the queue
}

// Call is the engine's side of a waiter.
type Call interface {
	Notify() // the call is to look at the waiter's state; never blocks
}

// WaiterState is a state of a waiter.
type WaiterState int8

const (
	Queued   WaiterState = iota // another call of this Client is ahead
	Leading                     // asks Redis
	Granted                     // its Ownership is an owner
	Rejoined                    // its owner has got the lock by another call: enter again
	Refused                     // ended with the error Refusal: replicas were missing, or Redis fails
	Left                        // ended without the lock
)

// State is where the waiter stands.
func (w *Waiter) State() WaiterState { return w.state }

// Led reports whether the waiter has led.
func (w *Waiter) Led() bool { return w.led }

// Ownership is what the waiter was granted.
func (w *Waiter) Ownership() *Ownership { return w.ownership }

// Admitted reports whether the waiter was admitted to the shared lease by the answer to another waiter's attempt.
func (w *Waiter) Admitted() bool { return w.admitted }

// HandedBy is the ownership that handed the lock over to the waiter; nil: Redis has granted it.
func (w *Waiter) HandedBy() *Ownership { return w.handedBy }

// Refusal is the error of a waiter that was refused.
func (w *Waiter) Refusal() error { return w.refusal }

// Next is the waiter behind it.
func (w *Waiter) Next() *Waiter { return w.next }

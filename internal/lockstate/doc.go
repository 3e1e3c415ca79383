// Package lockstate decides for one lock of one Client which of the Client's owners hold it, which calls
// wait, and what has to be sent to Redis next. It does no I/O, starts no goroutine, takes no ctx and
// reads no clock: with the same state, the same input always has the same output. So tests can go through
// all orders of events in milliseconds, without Redis (package comment of etcd-io/raft: the idea).
//
// # Who does what
//
// Package reentrant is the engine. It sends the commands, runs the goroutines, and makes the errors that
// callers see. It guards each [State] with one mutex, passes the time in, and carries out what a method
// returns: decide (with the mutex), send (without), settle (with the mutex).
//
//	Release   -> Free       send transfer or release   Transferred, TransferUnanswered, Released
//	          -> SetCount   send the hold count        CountSent
//	          -> HandedOver nothing to send
//	Enter     -> Wait       send acquire               Granted, FoundBusy, AttemptFailed
//	          -> Reenter    send the hold count        Reentry.Settle
//
// Four things have to happen inside a decision, so the State calls the engine for them. These calls never
// come back into the State:
//
//   - [Watch]: a lock is never held without being watched, nor watched without being held.
//   - [Holder]: the ctx of a hold ends in the step that ends its ownership.
//   - [Call]: the call of a waiter looks at its state again.
//   - [Engine]: work for the background, subscriptions, and what a Client remembers of losses.
//
// # States
//
// The owners of a lock are in one of these states; only live and releasing ones are in the set of owners:
//
//	live ──> releasing ──> ended       the last hold was released
//	  └────> ended                     handed over by write-behind, lost, or abandoned by Close
//
// A waiter is queued, or leads, until it is granted the lock, has to enter its own owner's again
// (rejoined), is refused, or has left. A waiter leads if it is the first and no owner conflicts with it
// ([Conflicts]). Only a waiter that leads sends attempts.
//
// # Late, twice, never
//
// Commands about one lock leave one at a time and numbered (reentrant's sequencer), so answers are
// settled in the order of the commands. The State still has to expect, while a command is under way:
// its call leaves, the watchdog reports the loss of the lease, the Client closes, another goroutine of
// the owner releases. Each settling method looks at the state as it is then, and not as it was when the
// command was sent. An answer that never comes is settled as unknown: what Redis may have is then freed
// by a clean-up ([Engine].CleanUp), or repaired.
package lockstate

// Package watchdog keeps leases alive. One [Watchdog] renews all leases a client holds at a third of
// their length, in batches. It declares a lease lost when Redis says that the lease is another
// owner's or, at the latest, when its validity has passed, even if Redis is silent.
//
// It knows nothing of locks, queues or subscriptions. Redis is behind a
// [RenewFunc], the holder of a lease behind a [Handler].
//
// # The states of a watch
//
//	         Add                    renewal due               Renewed, Failed
//	(zero) ───────► watched, idle ──────────────► in a call ─────────────────► watched, idle
//	                     │                            │
//	                     └──────── Remove ────────────┴──► over
//	                               NotOwner, validity passed: Lost
//
// A watch that is over may be added again. That is a new registration, and no answer to a renewal of
// the old one can touch it.
//
// # Trust
//
// A lease may be trusted until its ValidUntil. Only a renewal that Redis has confirmed moves it, to
// [Validity] counted from before the command was sent. (The holder moves it too, through Update, when
// another command gave it such a confirmation.) An instant has passed once the monotonic clock has
// passed it, or the wall clock if that moved further. It stays passed: an answer that is received
// after ValidUntil does not bring the lease back.
//
// # When Redis answers late, twice or never
//
// A renewal begins when two thirds of the lease are left. A call that has not come back within a
// sixth of the lease is given up: its targets are tried again at once, in a call beside it. Four
// tries of a sixth each fill the two thirds. When all four hang, every lease is reported lost when
// its validity has passed. A call that was given up leaves its place to another one, so that other
// leases are renewed though it hangs. At most four calls are under way besides the calls that were
// given up. While 32 of these exist, no more calls are sent.
//
// The answer of a call that was given up still counts, but only for what was true when it was sent:
// the validity counts from that call's own start. So a lease may get two answers, in any order; the
// later validity stands. An answer that says Failed leaves everything as it is, and another try
// follows after about a twelfth of the lease.
//
// # When there are more leases than Redis has answers for
//
// Renewals are late then. The later they are, the more targets a call has (roundtrips.go). That may
// not be enough. Then the leases that an answer would reach too late, by the round trips that were
// measured, come after all others (backlog.go): otherwise every renewal would come too late. They are
// watched as ever, and renewed when there is room, or when Redis has become quick again.
//
// # Who runs where
//
// The watchdog's goroutine starts with the first Add and ends with Close. It reports losses, applies
// answers and decides when to renew; it never waits for Redis. Renewals run on helper goroutines.
// There is one helper, unless it hangs or cannot keep up, and at most four besides the ones that
// hang. Helpers end when nothing is due. There is one timer. A watch has neither a goroutine nor a
// timer.
//
// One mutex guards the schedule and every Watch in it. It is held for a few hundred steps at most,
// except at the moment in which the wall clock has run ahead. It is never held while a RenewFunc, a
// Handler or OnFailure runs, so all of them may call the watchdog.
package watchdog

// Package watchdog keeps leases alive. One [Watchdog] renews all leases a
// client holds at a third of their length, in batches, and declares a lease
// lost when Redis says that it belongs to somebody else or, at the latest, when
// its validity has passed, even if Redis is silent.
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
// A watch that is over may be added again; that is a new registration, and
// nothing that was sent for the old one can touch it.
//
// # Trust
//
// A lease may be trusted until its ValidUntil. Only a renewal that Redis
// confirmed moves it (or the holder, through Update, who had such a
// confirmation from another command), to [Validity] counted from before the
// command was sent. Once an instant has passed by the monotonic clock, or by the
// wall clock if that moved further, it stays passed: an answer that is received
// after ValidUntil does not bring the lease back.
//
// # When Redis answers late, twice or never
//
// A renewal begins when two thirds of the lease are left. A call that has not
// come back within a sixth of the lease is given up: its targets are tried
// again at once, in a call beside it. Four tries of a sixth each fill the two thirds; when
// all four hang, every lease is reported lost when its validity has passed. A call that was
// given up leaves its place to another, so that the leases of others are renewed though it
// hangs: at most four calls are under way besides those, and no more is sent while 32 of
// those exist.
//
// The answer of a call that was given up still counts, in the holder's favour
// only as far as it was true when it was sent: validity counts from that call's
// own start. So a lease may hear of two answers, in any order; the later
// validity stands. An answer that says Failed leaves everything as it is and is
// followed by another try after about a twelfth of the lease.
//
// # When there are more leases than Redis has answers for
//
// Renewals are late then. The later they are the more targets a call has (roundtrips.go). If that is not
// enough, leases that an answer would reach too late, by the round trips that were measured, come
// after all others (backlog.go): otherwise every renewal would come too late. They are watched as
// ever, and renewed when there is room, or when Redis has become quick again.
//
// # Who runs where
//
// The watchdog's goroutine starts with the first Add and ends with Close. It
// reports losses, applies answers and decides when to renew; it never waits for
// Redis. Renewals run on helper goroutines, one at a time unless it hangs or
// cannot keep up, four at most besides those that hang, which end when nothing is due.
// There is one timer. A watch costs neither.
//
// One mutex guards the schedule and every Watch in it. It is held for a few
// hundred steps at most, but for the moment in which a wall clock has run ahead, and never while a RenewFunc, a Handler or OnFailure
// runs, so all of them may call the watchdog.
package watchdog

package lockstate

import "time"

const (
	// MaxRetries is how often a command is repeated that was not answered, or that Redis could not serve
	// just then. It is go-redis' default.
	MaxRetries = 3

	// RetryWithin: no retry begins later, counted from the first try.
	RetryWithin = 2 * time.Second
)

// patience is what one call has borne of an outage. It decides when the outage ends the call's wait.
type patience struct {
	answers  int       // outage.answers when the call came
	failures int32     // failed attempts in a row
	answered bool      // Redis has answered since, or the Client knew that the lock was busy
	failure  error     // the last of them
	since    time.Time // when the outage began that the call has borne, while failures > 0

	// Since when it has waited in an outage that ended the wait of a call ahead of it; zero: not known.
	behind time.Time
}

// Failure is an attempt that failed: there was no answer, or Redis could not serve it.
type Failure struct {
	Err   error // as the call's error gives it
	Final bool  // to repeat the attempt does not help
	Late  bool  // Redis has answered, but so late that the lease was over
	Alone bool  // it is about this attempt alone, and not about Redis
}

// FailedAttempt notes a failed attempt of a waiter that leads, and reports whether that ends the wait. If
// so, the same error may end the waits behind it. There are two limits for a call that waits:
//
//   - Redis has answered nothing at all: four attempts, and more than 2 s. Four attempts alone may be
//     over in a tenth of a second, and go-redis refuses to dial for up to a second after Redis is back.
//   - The call knows that the lock was busy: more than one lease, and more than 2 s. After one lease
//     without Redis the holder has lost the lock.
func (s *State) FailedAttempt(w *Waiter, f Failure, now time.Time) (over bool) {
	p := &w.patience
	p.failure = f.Err
	if p.failures++; p.failures == 1 {
		p.since = s.outageOf(w, now)
	}
	over = f.Final || w.Once || s.impatient(w, f.Late, now)
	if over && !w.Single && !f.Alone { // a single attempt gives up sooner than a wait
		s.endWaits(w, f.Err, now)
	}
	return over
}

// impatient reports whether a waiter has borne enough failures that might pass.
func (s *State) impatient(w *Waiter, late bool, now time.Time) bool {
	p := &w.patience
	atLeast := RetryWithin
	if late {
		atLeast = 0 // to ask Redis for longer does not help
	}
	many, borne := p.failures > MaxRetries, now.Sub(p.since)
	if w.Single { // repeated as any other command
		return many || now.Sub(w.Began) > RetryWithin
	}
	return !p.answered && many && borne > atLeast || borne > max(atLeast, s.cfg.Lease)
}

// outageOf returns when the outage began that w has borne: now, at this failure, or earlier. It is
// earlier if calls that led before w have seen the same outage, and Redis has answered none of them
// since w came.
func (s *State) outageOf(w *Waiter, now time.Time) time.Time {
	if p := &w.patience; !p.behind.IsZero() && s.outage.answers == p.answers {
		return p.behind
	}
	return now
}

// endWaits ends, with the error of a waiter that leads, the waits that have seen the same outage.
// Otherwise each of these waiters would begin to bear the outage anew when it leads.
//
//   - A waiter that came before the outage ends.
//   - A waiter that came later ends if the first one never had an answer and this one has waited for 2 s:
//     no call without an answer waits for longer.
//   - Any other waiter goes on, and has borne the outage since it came.
func (s *State) endWaits(head *Waiter, err error, now time.Time) {
	from, answered := head.patience.since, head.patience.answered
	for w := s.waiting.first; w != nil; {
		next := w.next
		switch {
		case w == head || w.state != Queued:
		case w.Began.Before(from) || !answered && now.Sub(w.Began) > RetryWithin:
			s.refuse(w, err)
		default:
			w.patience.behind = w.Began
		}
		w = next
	}
}

// KnewBusy notes that a waiter found the lock taken by another owner of the Client, or Redis has said so.
func (w *Waiter) KnewBusy() {
	p := &w.patience
	p.answered, p.failures, p.failure = true, 0, nil
}

// Hear notes whether Redis has answered an attempt of a waiter that led meanwhile.
func (s *State) Hear(w *Waiter) {
	w.patience.answered = w.patience.answered || s.outage.answers != w.patience.answers
}

// SaysBusy reports whether, by the last answer, another owner has the lock or is ahead of the waiter.
func (s *State) SaysBusy(w *Waiter, now time.Time) bool {
	return w.patience.answered && w.patience.failure == nil && !s.Silent(now)
}

// Failure is the error of the last attempt, if that failed.
func (w *Waiter) Failure() error { return w.patience.failure }

// Failures is how many attempts have failed in a row.
func (w *Waiter) Failures() int { return int(w.patience.failures) }

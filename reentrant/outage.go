package reentrant

import "time"

// silence is how long a command may stay without an answer before the Client no longer knows who holds
// the lock. After that Redis is silent.
const silence = time.Second

// outage is what a Client knows of whether Redis answers the commands about one lock. lockState.mu guards
// it. It takes the time from its caller.
type outage struct {
	sent    time.Time // when the command under way began, its repetitions included; zero: none is
	since   time.Time // when the first failed command began, if the last one failed; zero: it was answered
	answers int       // attempts that Redis has answered
}

// begin and end note when the command under way began.
func (o *outage) begin(now time.Time) { o.sent = now }
func (o *outage) end()                { o.sent = time.Time{} }

// note takes the outcome of the command under way.
func (o *outage) note(err error) {
	switch {
	case err == nil:
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = o.sent
	}
}

// silent reports whether Redis has refused this Client's commands for longer than silence, or left one
// unanswered for so long.
func (o *outage) silent(now time.Time) bool {
	from := o.since
	if from.IsZero() {
		from = o.sent
	}
	return !from.IsZero() && now.Sub(from) > silence
}

// startFor returns when the outage began that w has borne: now, at this failure, or earlier. It is
// earlier if waiters that led before w have seen the same outage, and Redis has answered none of them
// since w came.
func (o *outage) startFor(w *waiter, now time.Time) time.Time {
	if !w.failing.IsZero() && o.answers == w.answers {
		return w.failing
	}
	return now
}

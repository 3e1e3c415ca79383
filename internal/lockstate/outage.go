package lockstate

import "time"

// Silence is how long a command may stay without an answer before the Client no longer knows who holds
// the lock. After that Redis is silent.
const Silence = time.Second

// outage is what a Client knows of whether Redis answers the commands about one lock.
type outage struct {
	sent    time.Time // when the command under way began, its repetitions included; zero: none is
	since   time.Time // when the first failed command began, if the last one failed; zero: it was answered
	answers int       // attempts that Redis has answered
}

// CommandBegun notes that a command, its repetitions included, is under way, and CommandEnded that none is
// any more. A waiter whose limit ends meanwhile looks at that.
func (s *State) CommandBegun(now time.Time) { s.outage.sent = now }
func (s *State) CommandEnded()              { s.outage.sent = time.Time{} }

// CommandTried notes how a try of the command under way ended.
func (s *State) CommandTried(answered bool) {
	switch o := &s.outage; {
	case answered:
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = o.sent
	}
}

// silent reports whether Redis has refused this Client's commands for longer than Silence, or left one
// unanswered for so long.
func (o *outage) silent(now time.Time) bool {
	from := o.since
	if from.IsZero() {
		from = o.sent
	}
	return !from.IsZero() && now.Sub(from) > Silence
}

package oracle

import "time"

// Requests is what clients have asked of Redis in some time.
type Requests struct {
	Sent   int           // requests of scripts, whatever became of them
	Ops    int           // calls on locks
	Groups int           // queues: clients times locks
	Span   time.Duration // in which they were sent
}

// What may be sent: a few requests for each call, which may have to be repeated, to be
// taken back and to be cleaned up after; and attempts of waiters, whose rate is limited to
// 50 a second for each queue.
const (
	requestsPerOp    = 3
	requestsPerGroup = 50 // a second
)

// Allowed is how many requests may be sent.
func (r Requests) Allowed() int {
	return requestsPerOp*r.Ops + int(requestsPerGroup*float64(r.Groups)*max(1, r.Span.Seconds()))
}

// Rate finds more requests than the calls and waiters that there were can need.
func Rate(r Requests) (found []Violation) {
	if r.Sent > r.Allowed() {
		found = append(found, violated("rate", "", "%d requests in %v for %d calls in %d queues: at most %d are right",
			r.Sent, r.Span, r.Ops, r.Groups, r.Allowed()))
	}
	return found
}

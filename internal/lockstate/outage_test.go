package lockstate

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// outageOfRedis is an outage as a Client of go-redis sees it. Redis is away from the start until back. After
// that go-redis does not dial until dials: it asks once a second whether Redis is back, and answers each command
// with the last error until then, within microseconds.
type outageOfRedis struct{ back, dials time.Duration }

// dialing is how long a command takes that finds nobody: go-redis dials five times, with pauses.
const dialing = 400 * time.Millisecond

var errDial = errors.New("dial tcp: connection refused")

// backoffs are the pauses of reentrant after a failed attempt, at their shortest or longest.
func backoff(failures int, longest bool) time.Duration {
	d := min(4*time.Millisecond<<min(failures, 10), 256*time.Millisecond)
	if longest {
		return d
	}
	return d / 2
}

// outlives plays one call through an outage: its attempts fail until go-redis dials and Redis is back. It
// returns nil if the call got the lock.
func (u outageOfRedis) outlives(began time.Duration, lease time.Duration, longest bool) error {
	p := clock{now: start.Add(began)}
	e := fakeEngine{clock: &p, did: mute}
	var s State
	s.Init(&Config{Lease: lease}, &e, false)
	w := &Waiter{Request: Request{Owner: "c:1", Lease: lease, Began: p.now}, Call: &fakeCall{did: muteOne}}
	s.Enqueue(w)
	for {
		if !s.BeginAttempt(w, p.now) {
			return errors.New("it does not lead")
		}
		if sent := p.now.Sub(start); sent >= u.dials {
			s.CommandTried(true)
			if _, refusal := s.Granted(w, Grant{Sent: p.now}, p.now); refusal != Accepted {
				return fmt.Errorf("refused: %v", refusal)
			}
			return nil
		} else if sent < u.back-dialing {
			p.now = p.now.Add(dialing)
		} else {
			p.now = p.now.Add(50 * time.Microsecond)
		}
		s.CommandTried(false)
		s.AttemptFailed(w, false, false, p.now)
		if s.FailedAttempt(w, Failure{Err: errDial}, p.now) {
			s.Leave(w, p.now)
			return w.Failure()
		}
		p.now = p.now.Add(backoff(w.Failures(), longest))
	}
}

// Four attempts may fail within a tenth of a second, all of them after Redis is back. A call that begins in the
// last second of an outage, or in the second after it, gets the lock.
func TestLockWhileNothingIsDialed(t *testing.T) {
	for _, lease := range []time.Duration{500 * time.Millisecond, testLease} {
		for _, longest := range []bool{false, true} {
			for began := 2 * time.Second; began <= 4*time.Second; began += 10 * time.Millisecond {
				u := outageOfRedis{back: 3 * time.Second, dials: 4 * time.Second}
				if began < u.dials-RetryWithin {
					continue // it may give up: it has waited for 2 s
				}
				if err := u.outlives(began, lease, longest); err != nil {
					t.Errorf("lease %v: a call that began %v before Redis was dialed again: %v", lease, u.dials-began, err)
				}
			}
		}
	}
}

// A call that has no answer for 2 s, and four attempts, does not wait any longer.
func TestLockWhileRedisIsAway(t *testing.T) {
	u := outageOfRedis{back: time.Hour, dials: time.Hour}
	for _, lease := range []time.Duration{500 * time.Millisecond, testLease} {
		if err := u.outlives(0, lease, false); !errors.Is(err, errDial) {
			t.Errorf("lease %v: %v", lease, err)
		}
	}
}

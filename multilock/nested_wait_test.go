package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// A quorum waits for a member that is held, whatever trouble another is in, and so it does as
// the member of another MultiLock.
func TestNestedQuorumWaits(t *testing.T) {
	const longest = time.Hour
	for what, trouble := range map[string]func(*virtualServer){
		"restarted": (*virtualServer).restart,
		"refusing":  func(s *virtualServer) { s.refuse("ERR down") },
	} {
		t.Run(what, func(t *testing.T) {
			quorum := func(f fleet) *multilock.MultiLock { return f.quorum(t, name, multilock.WithLongestLease(longest)) }
			flat, scripts := waited(t, longest, trouble, quorum)
			nested, polls := waited(t, longest, trouble, func(f fleet) *multilock.MultiLock {
				l, err := multilock.New(quorum(f))
				must(t, err)
				return l
			})
			t.Logf("flat %v, %d scripts; nested %v, %d scripts in 10 s", flat, scripts, nested, polls)
			if nested > flat+time.Second {
				t.Errorf("free, and had only %v later", nested)
			}
			if polls > 2*scripts {
				t.Errorf("%d scripts while it waited, a quorum by itself sends %d", polls, scripts)
			}
		})
	}
}

// waited is how much later than it is free, after 10 s, the lock is had, and how many scripts one
// server got until then.
func waited(t *testing.T, longest time.Duration, trouble func(*virtualServer), lock func(fleet) *multilock.MultiLock) (took time.Duration, scripts int) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		must(t, b[0].NewLock(name).Lock(as(v.ctx, "b")))
		trouble(v.s[1])
		l := lock(a)
		ctx, cancel := context.WithTimeout(v.ctx, 10*longest)
		defer cancel()
		began := time.Now()
		lock := begin(func() error { return l.Lock(as(ctx, "a")) })
		v.pass(10 * time.Second)
		scripts = v.s[2].commands("EVALSHA")
		must(t, b[0].NewLock(name).Unlock(as(v.ctx, "b")))
		<-lock.done
		must(t, lock.err)
		took = lock.at.Sub(began) - 10*time.Second
		must(t, l.Unlock(as(v.ctx, "a")))
	})
	return took, scripts
}

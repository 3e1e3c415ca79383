package watchdog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/watchdog"
)

// The model: what must be true of each lease, whatever the watchdog does and
// whenever it does it. It knows nothing of retries, batches or helpers; it sees
// the calls of RenewFunc and computes what they entitle the watchdog to say.

type step struct {
	wait  time.Duration // before it
	op    string        // add, remove, update
	lease int
	valid time.Duration // from now
	renew bool
	until time.Duration // RenewUntil, from now; 0: none
}

type answer struct {
	outcome watchdog.Outcome // 0: panic
	after   time.Duration
	hang    bool
}

const leases = 4

// slot is one Watch, with the model's opinion of its registration.
type slot struct {
	holder
	gen     int
	alive   bool
	trusted time.Time
	renew   bool
	until   time.Time
	asked   time.Time // when the last call began that has not returned
	want    []string  // what it must have heard, in all registrations
	got     []string
}

func (s *slot) Lost(c watchdog.Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, fmt.Sprint(c, " ", time.Now().UnixNano()))
}

// expire brings the model up to now.
func (s *slot) expire(now time.Time) {
	if s.alive && !now.Before(s.trusted) {
		s.alive = false
		s.want = append(s.want, fmt.Sprint(watchdog.CauseExpired, " ", s.trusted.UnixNano()))
	}
}

type model struct {
	mu       sync.Mutex
	slots    [leases]slot
	answers  []answer
	calls    int
	inflight int
	awaited  map[int]time.Time // when the calls in flight began
	errs     []string
	end      chan struct{}
}

func (m *model) errorf(format string, args ...any) {
	m.errs = append(m.errs, fmt.Sprintf(format, args...))
}

func (m *model) renew(_ context.Context, targets []watchdog.Target, l time.Duration) []watchdog.Result {
	m.mu.Lock()
	n := m.calls
	m.calls++
	m.inflight++
	sent := time.Now()
	m.awaited[n] = sent
	inTime := 0
	for _, began := range m.awaited {
		if sent.Sub(began) < max(l/6, 50*time.Millisecond) {
			inTime++
		}
	}
	if inTime > watchdog.MaxHelpers || m.inflight > watchdog.MaxHelpers+watchdog.MaxOverdue {
		m.errorf("%d calls in flight, %d of them in time", m.inflight, inTime)
	}
	gens := make([]int, len(targets))
	for i, t := range targets {
		s := &m.slots[t.Key[0]-'0']
		s.expire(sent)
		gens[i] = s.gen
		if !s.alive || !s.renew || !s.until.IsZero() && !sent.Before(s.until) {
			m.errorf("lease %s was renewed though alive=%v renew=%v until=%v", t.Key, s.alive, s.renew, s.until)
		}
		if !s.asked.IsZero() && sent.Before(s.asked.Add(l/6)) {
			m.errorf("lease %s was renewed by two calls at a time", t.Key)
		}
		s.asked = sent
	}
	a := answer{outcome: watchdog.Renewed}
	if n < len(m.answers) {
		a = m.answers[n]
	}
	m.mu.Unlock()

	if a.hang {
		<-m.end
	}
	if a.hang || a.after > 0 {
		// No two things happen at one instant, or the order of both would be
		// a matter of luck: steps are whole milliseconds and a few nanoseconds,
		// answers whole milliseconds and microseconds.
		time.Sleep(a.after + time.Duration(n+1)*time.Microsecond)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	m.inflight--
	delete(m.awaited, n)
	now := time.Now()
	for i, t := range targets {
		s := &m.slots[t.Key[0]-'0']
		s.expire(now)
		if s.gen != gens[i] || !s.alive {
			continue
		}
		if s.asked.Equal(sent) {
			s.asked = time.Time{}
		}
		switch a.outcome {
		case watchdog.Renewed:
			if v := watchdog.Validity(sent, l); v.After(s.trusted) {
				s.trusted = v
			}
		case watchdog.NotOwner:
			s.alive = false
			s.want = append(s.want, fmt.Sprint(watchdog.CauseNotOwner, " ", now.UnixNano()))
		}
	}
	if a.outcome == 0 {
		panic("no outcome")
	}
	return all(a.outcome, targets)
}

// do carries out a step on the watchdog and the model.
func (m *model) do(w *watchdog.Watchdog, st step) {
	time.Sleep(st.wait)
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for i := range m.slots {
		m.slots[i].expire(now)
	}
	s := &m.slots[st.lease]
	sched := watchdog.Schedule{ValidUntil: now.Add(st.valid), Renew: st.renew}
	if st.until > 0 {
		sched.RenewUntil = now.Add(st.until)
	}
	switch st.op {
	case "add":
		s.gen++
		s.asked = time.Time{}
		s.alive, s.trusted, s.renew, s.until = true, sched.ValidUntil, sched.Renew, sched.RenewUntil
		w.Add(&s.Watch, watchdog.Target{Key: string(rune('0' + st.lease)), Owner: "o"}, s, sched)
	case "remove":
		if got := w.Remove(&s.Watch); got != s.alive {
			m.errorf("Remove said %v", got)
		}
		s.alive = false
	case "update":
		if got := w.Update(&s.Watch, sched); got != s.alive {
			m.errorf("Update said %v", got)
		}
		if s.alive {
			s.renew, s.until = sched.Renew, sched.RenewUntil
			if sched.ValidUntil.After(s.trusted) {
				s.trusted = sched.ValidUntil
			}
		}
	}
	m.check(w)
}

func (m *model) check(w *watchdog.Watchdog) {
	alive := 0
	for i := range m.slots {
		s := &m.slots[i]
		if s.alive {
			alive++
			if got := w.ValidUntil(&s.Watch); !got.Equal(s.trusted) {
				m.errorf("lease %d is trusted %v longer than confirmed", i, got.Sub(s.trusted))
			}
		}
		s.mu.Lock()
		if got, want := fmt.Sprint(s.got), fmt.Sprint(s.want); got != want {
			m.errorf("lease %d heard %s, want %s", i, got, want)
		}
		s.mu.Unlock()
	}
	if got := w.Len(); got != alive {
		m.errorf("%d watched, want %d", got, alive)
	}
}

// told is how much all leases have heard.
func (m *model) told() (n int) {
	for i := range m.slots {
		s := &m.slots[i]
		s.mu.Lock()
		n += len(s.got)
		s.mu.Unlock()
	}
	return n
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Everything is drawn before the bubble: rapid reports by panicking.
		healthy := rapid.Bool().Draw(rt, "healthy")
		ms := func(lo, hi int, name string) time.Duration {
			return time.Duration(rapid.IntRange(lo, hi).Draw(rt, name)) * time.Millisecond
		}
		steps := make([]step, rapid.IntRange(1, 40).Draw(rt, "steps"))
		m := &model{awaited: make(map[int]time.Time)}
		for i := range steps {
			st := step{
				wait:  ms(0, 9000, "wait") + time.Nanosecond,
				op:    rapid.SampledFrom([]string{"add", "add", "remove", "update"}).Draw(rt, "op"),
				lease: rapid.IntRange(0, leases-1).Draw(rt, "lease"),
				valid: ms(1000, 30000, "valid"),
				renew: healthy || rapid.IntRange(0, 3).Draw(rt, "renew") > 0,
			}
			if healthy {
				// Half of what is left must be enough for one helper to renew
				// every lease in turn.
				st.valid += 2 * time.Second
			}
			if !healthy && rapid.IntRange(0, 5).Draw(rt, "limited") == 0 {
				st.until = ms(1, 40000, "until")
			}
			steps[i] = st
			a := answer{outcome: watchdog.Renewed}
			if healthy {
				a.after = ms(0, 300, "after")
			} else {
				a.outcome = rapid.SampledFrom([]watchdog.Outcome{
					0, watchdog.Renewed, watchdog.Renewed, watchdog.Renewed,
					watchdog.Failed, watchdog.Failed, watchdog.NotOwner,
				}).Draw(rt, "outcome")
				a.after = rapid.SampledFrom([]time.Duration{0, 1, 7, 300, 4900, 5100, 9000, 22000}).Draw(rt, "after") * time.Millisecond
				a.hang = rapid.IntRange(0, 9).Draw(rt, "hang") == 0
			}
			m.answers = append(m.answers, a)
		}

		synctest.Test(t, func(t *testing.T) {
			m.end = make(chan struct{})
			w := watchdog.New(watchdog.Config{Lease: lease, Renew: m.renew, Batch: 3})
			for _, st := range steps {
				m.do(w, st)
			}
			m.do(w, step{wait: time.Minute + time.Nanosecond})
			if healthy {
				for i := range m.slots {
					if got := m.slots[i].got; len(got) > 0 {
						m.errorf("lease %d was lost though Redis is well: %v", i, got)
					}
				}
			}
			// What hung answers at last, and counts if its lease still stands.
			close(m.end)
			m.do(w, step{wait: time.Minute + time.Nanosecond})
			m.mu.Lock()
			told := m.told()
			m.mu.Unlock()
			closeNow(t, w)
			if m.told() != told {
				m.errorf("told something after Close")
			}
		})
		if len(m.errs) > 0 {
			rt.Fatalf("%s\n%+v\n%+v", m.errs[0], steps, m.answers)
		}
	})
}

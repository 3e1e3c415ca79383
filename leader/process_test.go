package leader_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// candidate is a process that campaigns.
type candidate struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Closer
	ended chan struct{}

	mu    sync.Mutex
	looks []look // guarded by mu
}

func stand(t *testing.T, s spec) *candidate {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	c := &candidate{t: t, cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), candidacy+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	go c.listen(out) // ends with the process
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
	})
	return c
}

func (c *candidate) listen(out io.Reader) {
	defer close(c.ended)
	for decoder := json.NewDecoder(out); ; {
		var l look
		if decoder.Decode(&l) != nil {
			break
		}
		c.mu.Lock()
		c.looks = append(c.looks, l)
		c.mu.Unlock()
	}
	_ = c.cmd.Wait() // after the last read, as StdoutPipe demands
}

func (c *candidate) seen() []look {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks[:len(c.looks):len(c.looks)]
}

// leads waits until the candidate leads, in a term after that one.
func (c *candidate) leads(after int64) (term int64) {
	c.t.Helper()
	redistest.Eventually(c.t, 30*time.Second, "a candidate leads", func() bool {
		seen := c.seen()
		if len(seen) > 0 {
			term = seen[len(seen)-1].Term
		}
		return term > after
	})
	return term
}

// anyLeads waits until one of them leads, in a term after that one.
func anyLeads(t *testing.T, after int64, all ...*candidate) (who *candidate, term int64) {
	t.Helper()
	redistest.Eventually(t, 30*time.Second, "a candidate leads", func() bool {
		for _, c := range all {
			if seen := c.seen(); len(seen) > 0 && seen[len(seen)-1].Term > after {
				who, term = c, seen[len(seen)-1].Term
				return true
			}
		}
		return false
	})
	return who, term
}

// neverTwo wants that no look of one candidate lies within another one's term: between two of that one's looks it led all
// the time, since a term that is over does not begin again.
func neverTwo(t *testing.T, all ...*candidate) {
	t.Helper()
	looks := 0
	for _, a := range all {
		type span struct{ from, to time.Time }
		terms := make(map[int64]span)
		for _, l := range a.seen() {
			if s, known := terms[l.Term]; known {
				s.to = l.Before
				terms[l.Term] = s
			} else {
				terms[l.Term] = span{l.After, l.Before}
			}
		}
		for _, b := range all {
			for _, l := range b.seen() {
				looks++
				for term, s := range terms {
					if a != b && l.Before.After(s.from) && l.After.Before(s.to) {
						t.Fatalf("term %d led at %v, within term %d from %v to %v", l.Term, l.Before, term, s.from, s.to)
					}
				}
			}
		}
	}
	t.Logf("%d looks", looks/len(all))
}

// A leader is stopped past its lease, and another one leads. When the first one goes on, its first look says that it does
// not lead. So for a leader that is killed, and for a Redis that is stopped past the lease.
func TestStoppedAndKilledLeaders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are not stopped there")
	}
	t.Parallel()
	const lease = 2 * time.Second
	s := redistest.Start(t)
	spec := spec{Redis: s.Addr(), Lease: lease}
	a := stand(t, spec)
	term := a.leads(0)
	b, c := stand(t, spec), stand(t, spec)

	must(t, a.cmd.Process.Signal(syscall.SIGSTOP))
	stopped := term
	next, term := anyLeads(t, term, b, c)
	continued := time.Now()
	must(t, a.cmd.Process.Signal(syscall.SIGCONT))

	s.Stop()
	redistest.Eventually(t, 30*time.Second, "the leader to stop when its lease is over", func() bool {
		seen := next.seen()
		return time.Since(seen[len(seen)-1].After) > lease*3/2
	})
	s.Continue()
	next, term = anyLeads(t, term, a, b, c)

	must(t, next.cmd.Process.Kill())
	var others []*candidate
	for _, other := range []*candidate{a, b, c} {
		if other != next {
			others = append(others, other)
		}
	}
	anyLeads(t, term, others...)
	neverTwo(t, a, b, c)
	for _, l := range a.seen() {
		if l.Term == stopped && l.Before.After(continued) {
			t.Errorf("the stopped leader led on when it was continued: %+v", l)
		}
	}
	for _, other := range others {
		must(t, other.in.Close())
		<-other.ended
	}
}

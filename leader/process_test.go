package leader_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/redistest"
)

// candidate is a process that campaigns, as the test sees it.
type candidate struct {
	t    testing.TB
	name string
	proc *child.Child
	in   io.WriteCloser
	read chan struct{} // closed when all that it reports is read

	mu     sync.Mutex
	terms  []*termSeen // guarded by mu
	told   []span      // guarded by mu; from a look that said no to the end of the ctx
	writes []report    // guarded by mu
	stops  []span      // guarded by mu; written by the one that stops it
}

// start starts a candidate, which ends with the test.
func start(t testing.TB, name string, s spec) *candidate {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	c := &candidate{t: t, name: name, read: make(chan struct{})}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), candidacy+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	c.in, err = cmd.StdinPipe()
	must(t, err)
	out, itsOut, err := os.Pipe() // not StdoutPipe, which is closed when the process has been waited for, and not when all is read
	must(t, err)
	defer itsOut.Close()
	cmd.Stdout = itsOut
	c.proc, err = child.Start(cmd)
	must(t, err)
	go c.listen(out) // ends with the process
	t.Cleanup(c.kill)
	return c
}

func (c *candidate) listen(out io.ReadCloser) {
	defer close(c.read)
	defer out.Close()
	for decoder := json.NewDecoder(out); ; {
		var r report
		if decoder.Decode(&r) != nil {
			return
		}
		c.note(r)
	}
}

func (c *candidate) note(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch last := len(c.terms) - 1; {
	case r.Wrote:
		c.writes = append(c.writes, r)
	case r.Told:
		c.told = append(c.told, span{r.Before, r.After})
	case last < 0 || c.terms[last].token != r.Term:
		c.terms = append(c.terms, &termSeen{span: span{r.After, r.Before}, who: c.name, token: r.Term, looks: 1})
	default:
		c.terms[last].to = r.Before
		c.terms[last].looks++
	}
}

// seen is what the candidate has reported so far.
func (c *candidate) seen() (terms []*termSeen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.terms {
		now := *t
		terms = append(terms, &now)
	}
	return terms
}

// latest is the candidate's last term so far; the zero value if it has led in none.
func (c *candidate) latest() (last termSeen) {
	if terms := c.seen(); len(terms) > 0 {
		last = *terms[len(terms)-1]
	}
	return last
}

// stopFor stops the process while play runs.
func (c *candidate) stopFor(play func()) {
	from := time.Now()
	if err := c.proc.Stop(); err != nil {
		c.t.Errorf("%s does not stop: %v", c.name, err)
	}
	play()
	err := c.proc.Continue()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = append(c.stops, span{from, time.Now()})
	if err != nil {
		c.t.Errorf("%s does not go on: %v", c.name, err)
	}
}

// end has the process end by itself.
func (c *candidate) end() {
	_ = c.in.Close()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
	case <-timer.C:
		c.t.Errorf("%s does not end", c.name)
	}
	c.kill()
}

func (c *candidate) kill() {
	c.proc.Kill()
	<-c.read
}

// tooLate finds the ends of terms that their ctx told later than a second after IsLeader, though the process ran.
func (c *candidate) tooLate() (found []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.told {
		stood := slices.ContainsFunc(c.stops, func(stop span) bool { return stop.touches(s) })
		if d := s.to.Sub(s.from); d > time.Second && !stood {
			found = append(found, fmt.Sprintf("%s: the ctx ended %v after the first look that said no", c.name, d))
		}
	}
	return found
}

// leads waits until one of them leads, in a term after that one.
func leads(t testing.TB, after int64, all ...*candidate) (who *candidate, token int64) {
	t.Helper()
	redistest.Eventually(t, 30*time.Second, "a candidate leads", func() bool {
		for _, c := range all {
			if token = c.latest().token; token > after {
				who = c
				return true
			}
		}
		return false
	})
	return who, token
}

// judgeAll wants nothing wrong in what they have seen.
func judgeAll(t testing.TB, forgettings []forgetting, all ...*candidate) {
	t.Helper()
	var terms []*termSeen
	looks := 0
	for _, c := range all {
		for _, found := range c.tooLate() {
			t.Error(found)
		}
		for _, s := range c.seen() {
			terms = append(terms, s)
			looks += s.looks
		}
	}
	for _, found := range judge(terms, forgettings) {
		t.Error(found)
	}
	t.Logf("%d looks in %d terms, %d times forgotten", looks, len(terms), len(forgettings))
}

func others(all []*candidate, than *candidate) (rest []*candidate) {
	for _, c := range all {
		if c != than {
			rest = append(rest, c)
		}
	}
	return rest
}

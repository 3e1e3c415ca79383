package mixedtests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// patience ends a test that hangs, and nothing else.
const patience = 60 * time.Second

// process is a worker. Its methods are for one goroutine at a time.
type process struct {
	t        *testing.T
	id       string
	newer    bool
	process  *child.Child
	in       io.Closer
	steps    *json.Encoder
	reports  chan Report
	complain bytes.Buffer // standard error, to be read when the process has ended

	stats reentrant.Stats // after the last step
}

// start starts a worker, which ends with the test.
func start(t *testing.T, s *redistest.Server, program, id string, newer bool) *process {
	t.Helper()
	p := &process{t: t, id: id, newer: newer, reports: make(chan Report, 1)}
	cmd := exec.Command(program, id, s.Addr())
	cmd.Stderr = &p.complain
	in, err := cmd.StdinPipe()
	must(t, err)
	// Not StdoutPipe: Wait closes that before all is read.
	out, itsOut, err := os.Pipe()
	must(t, err)
	defer itsOut.Close()
	cmd.Stdout = itsOut
	p.in, p.steps = in, json.NewEncoder(in)
	p.process, err = child.Start(cmd)
	must(t, err)
	go p.listen(out) // ends with the process, which the clean-up kills
	t.Cleanup(func() {
		p.process.Kill()
		in.Close()
		for range p.reports { // listen has ended then
		}
	})
	return p
}

func (p *process) listen(out io.ReadCloser) {
	defer close(p.reports)
	defer out.Close()
	decoder := json.NewDecoder(out)
	for {
		var r Report
		if decoder.Decode(&r) != nil {
			return
		}
		p.reports <- r
	}
}

func (p *process) send(s Step) {
	p.t.Helper()
	if err := p.steps.Encode(s); err != nil {
		p.t.Fatalf("%s: %s: %v", p.id, s.Verb, err)
	}
}

// told is what a report says, and what the Client's figures have grown by meanwhile.
type told struct {
	Report
	granted, message, waits uint64 // waits: attempts that no message called for, and that began no subscription
}

// report waits for the end of a step, which must not have failed.
func (p *process) report() told {
	p.t.Helper()
	select {
	case r, ok := <-p.reports:
		if !ok {
			<-p.process.Done()
			p.t.Fatalf("%s has ended:\n%s", p.id, p.complain.Bytes())
		}
		if r.Err != "" {
			p.t.Fatalf("%s: %s; %s", p.id, r.Err, r.Stats)
		}
		return p.grown(r)
	case <-time.After(patience):
		p.t.Fatalf("%s: no report within %v", p.id, patience)
	}
	return told{}
}

// grown also checks that the worker has the version that it was started for.
func (p *process) grown(r Report) told {
	p.t.Helper()
	if newer := bytes.Contains(r.Stats, []byte(`"Granted"`)); newer != p.newer {
		p.t.Fatalf("%s is of the wrong version: %s", p.id, r.Stats)
	}
	var now reentrant.Stats
	must(p.t, json.Unmarshal(r.Stats, &now))
	was := p.stats
	p.stats = now
	return told{
		Report:  r,
		granted: now.Granted - was.Granted,
		message: now.WakeUps.Message - was.WakeUps.Message,
		waits:   now.WakeUps.Poll - was.WakeUps.Poll + now.WakeUps.TTL - was.WakeUps.TTL,
	}
}

func (p *process) do(s Step) told {
	p.t.Helper()
	p.send(s)
	return p.report()
}

// end has the worker close its Client and exit.
func (p *process) end() {
	p.t.Helper()
	p.in.Close()
	if err := p.process.Err(); err != nil {
		p.t.Errorf("%s: %v\n%s", p.id, err, p.complain.Bytes())
	}
}

// fleet is three workers of each version.
type fleet struct {
	t            *testing.T
	server       *redistest.Server
	programs     map[bool]string // by whether it is the newer one
	older, newer []*process
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	commit := older(t)
	f := &fleet{t: t, server: redistest.Start(t)}
	f.programs = map[bool]string{false: build(t, commit), true: build(t, "")}
	for i := range 3 {
		f.older = append(f.older, f.start(fmt.Sprint("older", i), false))
		f.newer = append(f.newer, f.start(fmt.Sprint("newer", i), true))
	}
	return f
}

func (f *fleet) start(id string, newer bool) *process {
	f.t.Helper()
	return start(f.t, f.server, f.programs[newer], id, newer)
}

func (f *fleet) all() []*process { return slices.Concat(f.older, f.newer) }

package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/child"
)

// patience is for a report. It only ends a test that hangs.
const patience = 60 * time.Second

// Worker is a process that does what the test says. Its methods are for one goroutine at a
// time, but for Stop, Continue and Kill.
type Worker struct {
	t        testing.TB
	process  *child.Child
	steps    *json.Encoder
	reports  chan Report  // closed when the worker has ended
	complain bytes.Buffer // its standard error, to be read when the process is done
}

// Start starts a worker, which ends with the test.
func Start(t testing.TB, spec Spec) *Worker {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	w := &Worker{t: t, reports: make(chan Report, 1)}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	if spec.Busy > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	}
	cmd.Stderr = &w.complain
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	// Not StdoutPipe, which is closed when the process has been waited for, and not when
	// all is read.
	out, itsOut, err := os.Pipe()
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	defer itsOut.Close()
	cmd.Stdout = itsOut
	if w.process, err = child.Start(cmd); err != nil {
		t.Fatalf("worker: %v", errors.Join(err, out.Close()))
	}
	w.steps = json.NewEncoder(in)
	go w.listen(out) // ends with the process, which the clean-up kills
	t.Cleanup(func() {
		w.Kill()
		in.Close()
		if bytes.Contains(w.complain.Bytes(), []byte("DATA RACE")) || bytes.Contains(w.complain.Bytes(), []byte("panic:")) {
			t.Errorf("worker %d:\n%s", w.process.PID(), w.complain.Bytes())
		}
	})
	return w
}

// listen reads the reports until the process has ended, or is being killed.
func (w *Worker) listen(out io.ReadCloser) {
	defer close(w.reports)
	defer out.Close()
	decoder := json.NewDecoder(out)
	for {
		var r Report
		if err := decoder.Decode(&r); err != nil {
			return
		}
		w.reports <- r
	}
}

// Send gives the worker a step, also while it is stopped. It wants one Report each.
func (w *Worker) Send(s Step) {
	w.t.Helper()
	if err := w.steps.Encode(s); err != nil {
		w.t.Fatalf("worker: %s: %v", s.Verb, err)
	}
}

// Report waits for what came of a step.
func (w *Worker) Report() Report {
	w.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r, ok := <-w.reports:
		if !ok {
			<-w.process.Done()
			w.t.Fatalf("the worker has ended:\n%s", w.complain.Bytes())
		}
		return r
	case <-timer.C:
		w.t.Fatalf("no report within %v", patience)
	}
	return Report{}
}

// Ask is Send and Report.
func (w *Worker) Ask(v Verb) Report {
	w.t.Helper()
	w.Send(Step{Verb: v})
	return w.Report()
}

// Do is Ask for a step that must not fail.
func (w *Worker) Do(v Verb) Report {
	w.t.Helper()
	r := w.Ask(v)
	if r.Err != "" {
		w.t.Fatalf("worker: %s: %s", v, r.Err)
	}
	return r
}

// Stop pauses the process like a machine that stands still, with no warning. It returns
// when the process does nothing any more.
func (w *Worker) Stop() {
	w.t.Helper()
	if err := w.process.Stop(); err != nil {
		w.t.Errorf("worker: %v", err)
	}
}

// Continue lets a stopped process go on.
func (w *Worker) Continue() {
	w.t.Helper()
	if err := w.process.Continue(); err != nil {
		w.t.Errorf("worker: %v", err)
	}
}

// Kill ends the process at once, also a stopped one, and waits for its end. It takes no
// notice of a process that has ended.
func (w *Worker) Kill() {
	w.process.Kill()
	for range w.reports { // nobody else reads them any more
	}
}

package worker

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// patience is for a report. It only ends a test that hangs.
const patience = 60 * time.Second

// Worker is a process that does what the test says. Its methods are for one goroutine at a
// time, but for Stop, Continue and Kill.
type Worker struct {
	t        testing.TB
	cmd      *exec.Cmd
	steps    *json.Encoder
	reports  chan Report   // closed when the worker has ended
	done     chan struct{} // closed when it has been waited for
	complain bytes.Buffer  // its standard error, to be read when done
}

// Start starts a worker, which ends with the test.
func Start(t testing.TB, spec Spec) *Worker {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	w := &Worker{t: t, reports: make(chan Report, 1), done: make(chan struct{})}
	w.cmd = exec.Command(os.Args[0])
	w.cmd.Env = append(os.Environ(), variable+"="+string(text))
	w.cmd.Stderr = &w.complain
	bindToParent(w.cmd)
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	w.steps = json.NewEncoder(in)
	started := make(chan error, 1)
	go w.run(out, started) // ends with the process, which the clean-up kills
	if err := <-started; err != nil {
		t.Fatalf("worker: %v", err)
	}
	t.Cleanup(func() {
		w.Kill()
		in.Close()
		if bytes.Contains(w.complain.Bytes(), []byte("DATA RACE")) || bytes.Contains(w.complain.Bytes(), []byte("panic:")) {
			t.Errorf("worker %d:\n%s", w.cmd.Process.Pid, w.complain.Bytes())
		}
	})
	return w
}

// run starts the process, reads its reports and waits for it. The kernel takes the thread
// that started a process, not the process of that thread, for the parent that has to die;
// so the thread is kept until the end.
func (w *Worker) run(out io.Reader, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(w.done)
	defer close(w.reports)
	err := w.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	decoder := json.NewDecoder(out)
	for {
		var r Report
		if err := decoder.Decode(&r); err != nil {
			break // the process has ended, or is being killed
		}
		w.reports <- r
	}
	_ = w.cmd.Wait() // how it ended tells nothing: it was killed as a rule
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
			<-w.done
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
	w.signal(syscall.SIGSTOP)
	// The signal is on its way when kill returns, and reaches one thread after the other.
	redistest.Eventually(w.t, time.Minute, "the process is stopped", func() bool { return stopped(w.cmd.Process.Pid) })
}

// Continue lets a stopped process go on.
func (w *Worker) Continue() { w.signal(syscall.SIGCONT) }

func (w *Worker) signal(sig os.Signal) {
	w.t.Helper()
	// Through the handle, never by number: that may be a stranger's by now.
	if err := w.cmd.Process.Signal(sig); err != nil {
		w.t.Errorf("worker: %v: %v", sig, err)
	}
}

// Kill ends the process at once, also a stopped one, and waits for its end. It takes no
// notice of a process that has ended.
func (w *Worker) Kill() {
	_ = w.cmd.Process.Kill() // fails only if the process is gone already
	for range w.reports {    // nobody else reads them any more
	}
	<-w.done
}

package nodes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/child"
)

// patience is for the next run. It only ends a test that hangs.
const patience = 60 * time.Second

// fleet is three nodes, as the test sees them.
type fleet struct {
	t     testing.TB
	runs  chan Run
	nodes map[string]*process
}

type process struct {
	*child.Child
	in       io.Closer
	ended    chan struct{} // closed when all that the node has told is read
	complain bytes.Buffer  // its standard error, to be read when the process is done
}

// start starts the nodes, which end with the test.
func start(t testing.TB, s Spec) *fleet {
	t.Helper()
	f := &fleet{t: t, runs: make(chan Run, 1000), nodes: make(map[string]*process)}
	for n := range 3 {
		s.Name = fmt.Sprintf("node-%d", n+1)
		f.add(s)
	}
	return f
}

func (f *fleet) add(s Spec) {
	f.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	p := &process{ended: make(chan struct{})}
	cmd := exec.Command(os.Args[0])
	// Under the race detector a node would sleep for a second before it exits.
	cmd.Env = append(os.Environ(), variable+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.Stderr = &p.complain
	in, err1 := cmd.StdinPipe()
	// Not StdoutPipe, which is closed when the process has been waited for, and not when all is read.
	out, itsOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		f.t.Fatal(err)
	}
	defer itsOut.Close()
	cmd.Stdout = itsOut
	if p.Child, err = child.Start(cmd); err != nil {
		f.t.Fatal(errors.Join(err, out.Close()))
	}
	p.in = in
	f.nodes[s.Name] = p
	go f.listen(p, out) // ends with the process, for which the clean-up waits
	f.t.Cleanup(func() { f.end(s.Name, p) })
}

// listen passes on the runs until the node has ended.
func (f *fleet) listen(p *process, out io.ReadCloser) {
	defer close(p.ended)
	defer out.Close()
	for decoder := json.NewDecoder(out); ; {
		var r Run
		if decoder.Decode(&r) != nil {
			return
		}
		select {
		case f.runs <- r:
		default: // nobody reads any more: a thousand runs are fifteen minutes
		}
	}
}

// end has a node end by itself, and wants that it does; one that was killed has ended.
func (f *fleet) end(name string, p *process) {
	p.in.Close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		f.t.Errorf("%s does not end", name)
		p.Kill()
	}
	<-p.ended
	if f.nodes[name] == p && p.Err() != nil || bytes.Contains(p.complain.Bytes(), []byte("DATA RACE")) {
		f.t.Errorf("%s: %v\n%s", name, p.Err(), p.complain.Bytes())
	}
}

// kill ends a node as a crash would, and waits for its end.
func (f *fleet) kill(name string) {
	f.nodes[name].Kill()
	delete(f.nodes, name)
}

// next waits for the next run.
func (f *fleet) next() Run {
	f.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-f.runs:
		return r
	case <-timer.C:
		f.t.Fatalf("no run within %v", patience)
	}
	return Run{}
}

// none wants no run for that time.
func (f *fleet) none(d time.Duration) {
	f.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r := <-f.runs:
		f.t.Errorf("%s runs the job while a run goes on", r.Node)
	case <-timer.C:
	}
}

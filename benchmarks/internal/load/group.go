//go:build unix

package load

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Group is some processes of a kind, children of this one.
type Group struct{ members []*member }

type member struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	recs   *gob.Decoder // of out
	stderr bytes.Buffer
}

// Start runs this program again, n times, and returns when all say that they are
// ready. They stay until Stop, and work in the windows that Begin gives them.
func Start(spec Spec, n int) (*Group, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return StartProgram(program, spec, n)
}

// StartProgram is Start of another program that begins with [Child], such as one that
// was built with another version of Redlatch.
func StartProgram(program string, spec Spec, n int) (*Group, error) {
	g := &Group{members: make([]*member, n)}
	err := g.each(func(i int, m *member) error {
		mine := spec
		mine.Process = i
		return m.start(program, mine)
	})
	if err != nil {
		g.Stop()
		return nil, err
	}
	return g, nil
}

// each calls f for all members at once.
func (g *Group) each(f func(i int, m *member) error) error {
	errs := make([]error, len(g.members))
	var wg sync.WaitGroup
	for i := range g.members {
		if g.members[i] == nil {
			g.members[i] = &member{}
		}
		wg.Go(func() { errs[i] = f(i, g.members[i]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *member) start(program string, spec Spec) (err error) {
	m.cmd = exec.Command(program)
	m.cmd.Env = append(os.Environ(), childVariable+"=1")
	m.cmd.Stderr = &m.stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	m.out = bufio.NewReader(out)
	m.recs = gob.NewDecoder(m.out)
	if err := m.cmd.Start(); err != nil {
		return err
	}
	if err := m.send(spec); err != nil {
		return err
	}
	if line, err := m.out.ReadString('\n'); err != nil || line != readyLine {
		return m.failed(fmt.Errorf("not ready: %q, %w", line, err))
	}
	return nil
}

func (m *member) send(v any) error { return json.NewEncoder(m.in).Encode(v) }

// Begin gives all members a window. The one before must have its Results.
func (g *Group) Begin(win Window) error {
	return g.each(func(_ int, m *member) error { return m.send(win) })
}

// lateness is how long a process may take to end its work after the window.
const lateness = time.Minute

// Results waits for the recordings of the window. A process that does not give one
// in time is killed.
func (g *Group) Results(win Window) ([]Recording, error) {
	limit := time.AfterFunc(win.End.Until()+lateness, g.kill)
	defer limit.Stop()
	recs := make([]Recording, len(g.members))
	err := g.each(func(i int, m *member) error {
		if err := m.recs.Decode(&recs[i]); err != nil {
			return m.failed(err)
		}
		if recs[i].Failure != "" {
			return fmt.Errorf("process %d: %s", m.cmd.Process.Pid, recs[i].Failure)
		}
		return nil
	})
	return recs, err
}

// failed adds what the process wrote to standard error.
func (m *member) failed(err error) error {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Kill() // so that all it has written is there
		_ = m.cmd.Wait()
	}
	return fmt.Errorf("process %d: %w\n%s", m.cmd.Process.Pid, err, m.stderr.String())
}

// Stop ends the processes.
func (g *Group) Stop() {
	g.kill()
	for _, m := range g.members {
		if m.cmd != nil && m.cmd.Process != nil && m.cmd.ProcessState == nil {
			_ = m.cmd.Wait() // killed
		}
	}
}

func (g *Group) kill() {
	for _, m := range g.members {
		if m.cmd != nil && m.cmd.Process != nil {
			_ = m.cmd.Process.Kill() // fails only if it has ended
		}
	}
}

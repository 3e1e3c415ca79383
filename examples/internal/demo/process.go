package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/child"
)

// endWithin is how long a child has to release its locks and exit.
const endWithin = 5 * time.Second

// Process is this program again, as a child.
type Process struct {
	*mailbox
	process   *child.Child
	out       *os.File
	complaint bytes.Buffer // what it wrote to standard error, to be read when the process is done
	delivered chan struct{}
	closing   sync.Once
}

// Start runs this program again as a child with that role, and sends it the job. The error
// of a child that ends before it has the job is End's. The caller ends the child with End or Kill; it does not outlive this process in any case.
func Start(role string, job any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe, which Wait closes before all is read.
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	cmd.Stdout = childOut
	p := &Process{mailbox: newMailbox(in, out), out: out, delivered: make(chan struct{})}
	cmd.Stderr = &p.complaint
	p.process, err = child.Start(cmd)
	childOut.Close() // the child has its own, and its end must be seen
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() {
		defer close(p.delivered)
		p.deliver(func() {})
	}()
	if err := p.Send(job); err != nil { // it has ended already
		return nil, errors.Join(p.End(), err)
	}
	return p, nil
}

// End ends the ctx of the child, waits until it has exited, and returns its error. A
// child that takes too long is killed.
func (p *Process) End() error {
	p.to.Close()
	select {
	case <-p.process.Done():
	case <-time.After(endWithin):
		p.Kill()
		return fmt.Errorf("a child did not end within %v", endWithin)
	}
	p.close()
	if err := p.process.Err(); err != nil {
		return fmt.Errorf("a child: %w: %s", err, strings.TrimSpace(p.complaint.String()))
	}
	return nil
}

// Kill ends the child at once, as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	p.process.Kill()
	p.close()
}

func (p *Process) close() {
	p.closing.Do(func() {
		close(p.stop)
		<-p.delivered
		p.to.Close()
		p.out.Close()
	})
}

// Gone reports whether the child has exited, within ctx.
func (p *Process) Gone(ctx context.Context) bool {
	select {
	case <-p.process.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

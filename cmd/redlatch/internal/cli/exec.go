package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/child"
	"github.com/redlatch/redlatch/reentrant"
)

// exec runs the command, and then frees the lock, if there is one: a nested run has none of its own.
func (r *runner) exec(path string, h hold, token int64) error {
	began := time.Now()
	c, err := child.Start(child.Spec{Path: path, Args: r.line, Env: r.environment(h, token), Stdin: r.in, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		code := exitNoExec
		if errors.Is(err, os.ErrNotExist) {
			code = exitNotFound
		}
		err = &exitError{code: code, err: err}
		if h != nil {
			_ = r.release(h, 0) // the error that there is says more
		}
		return err
	}
	lost := r.attend(c, h)
	code := c.Code()
	r.tell("ended", "exit code %d after %v", code, time.Since(began).Round(time.Millisecond))
	if h == nil {
		return result(code)
	}
	if r.oncePer > 0 && code == 0 && !lost {
		if err := r.markDone(); err != nil {
			return errors.Join(fmt.Errorf("the command has succeeded, and the mark of --once-per was not written: %w", err), r.release(h, 0))
		}
	}
	err = r.release(h, r.atLeast-time.Since(began))
	switch {
	case r.onLost == "ignore" && (lost || errors.Is(err, reentrant.ErrLost)):
		return result(code)
	case lost || errors.Is(err, reentrant.ErrLost):
		return &exitError{code: exitLost, err: fmt.Errorf("lock %q was lost while the command ran", r.name), quiet: lost}
	case err != nil:
		fmt.Fprintf(r.errs, "redlatch: %s\n", plain(err)) // the lock ends with its lease
	}
	return result(code)
}

// attend waits for the end of the command, passes signals on, and ends the command when the lock is lost.
func (r *runner) attend(c *child.Child, h hold) (lost bool) {
	var gone <-chan struct{}
	if h != nil {
		gone = h.Lost()
	}
	var kill <-chan time.Time
	for {
		select {
		case <-c.Done():
			if lost && r.onLost != "ignore" {
				c.Kill() // what is left of its group
			}
			return lost
		case s := <-r.signals:
			c.Signal(s)
		case <-gone:
			gone, lost = nil, true
			fmt.Fprintf(r.errs, "redlatch: lock %q is lost\n", r.name)
			r.tell("lost", "%s", plain(causeOf(h)))
			switch {
			case r.onLost == "ignore":
			case r.onLost == "kill" || r.grace <= 0:
				c.Kill()
			default:
				c.Terminate()
				timer := time.NewTimer(r.grace)
				defer timer.Stop()
				kill = timer.C
			}
		case <-kill:
			c.Kill()
		}
	}
}

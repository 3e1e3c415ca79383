//go:build unix

package child

import (
	"fmt"
	"syscall"
	"time"
)

// CanStop says that Stop stops a child.
const CanStop = true

// patience is for the kernel to stop all threads. It only ends a wait that hangs.
const patience = time.Minute

// Stop pauses the child like a machine that stands still, with no warning: its connections
// stay open, and nothing is answered. On Linux it returns when all threads stand still,
// since the signal is on its way when kill returns, and reaches one after the other.
func (c *Child) Stop() error {
	if err := c.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !stopped(c.PID()); <-tick.C {
		if time.Since(began) > patience {
			return fmt.Errorf("process %d still runs %v after SIGSTOP", c.PID(), patience)
		}
	}
	return nil
}

// Continue lets a stopped child go on.
func (c *Child) Continue() error { return c.signal(syscall.SIGCONT) }

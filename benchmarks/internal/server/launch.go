//go:build unix

package server

import "runtime"

// launch starts the server so that, on Linux, it does not outlive this process. The
// kernel counts the thread that forked as the parent that has to die, so the
// goroutine keeps its thread until it has waited for the child.
func (s *Server) launch() error {
	bindToParent(s.cmd)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // killed by Stop; how it exited tells nothing
			close(s.done)
		}
	}()
	return <-started
}

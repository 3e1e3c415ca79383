package memconn

import (
	"bytes"
	"os"
	"sync"
	"time"
)

// stream is one direction of a connection: bytes in order, without a limit.
//
// A reader waits on channels and timers only, never on a mutex for long, since a
// bubble's time stands still while one of its goroutines waits for a mutex.
type stream struct {
	mu       sync.Mutex
	buf      bytes.Buffer  // guarded by mu
	err      error         // guarded by mu; what read returns once buf is empty
	deadline time.Time     // guarded by mu; of reads, zero for none
	changed  chan struct{} // guarded by mu; closed and replaced at each change
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

func (s *stream) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.notifyLocked()
	return s.buf.Write(b)
}

// end makes writes fail with err, and reads once they have had what was written
// before. The first call counts.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.notifyLocked()
	}
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.notifyLocked()
}

func (s *stream) read(b []byte) (int, error) {
	for {
		n, changed, deadline, err := s.tryRead(b)
		if n > 0 || err != nil {
			return n, err
		}
		waitUntil(changed, deadline)
	}
}

// tryRead returns bytes or an error if there is one, or else what to wait for.
func (s *stream) tryRead(b []byte) (n int, changed <-chan struct{}, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
		return 0, nil, time.Time{}, os.ErrDeadlineExceeded
	case s.buf.Len() > 0:
		n, err = s.buf.Read(b)
		return n, nil, time.Time{}, err
	default:
		return 0, s.changed, s.deadline, s.err
	}
}

// waitUntil returns when changed is closed or the deadline has come.
func waitUntil(changed <-chan struct{}, deadline time.Time) {
	if deadline.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

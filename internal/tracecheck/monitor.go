package tracecheck

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Recorder reads what a server executes from now on.
type Recorder struct {
	conn net.Conn
	read sync.WaitGroup

	mu     sync.Mutex
	reader grouper // guarded by mu
	err    error   // guarded by mu: the first line that could not be read
}

// Record begins to record, and returns when the server has confirmed that. It ends with the test at the latest.
func Record(t testing.TB, addr string) *Recorder {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorder{conn: conn}
	t.Cleanup(func() { r.Stop() })
	lines := bufio.NewReaderSize(conn, 1<<16)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(answer) != "+OK" {
		t.Fatalf("MONITOR was answered %q, %v", answer, err)
	}
	r.read.Go(func() { r.follow(lines) })
	return r
}

// follow reads until the connection ends.
func (r *Recorder) follow(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		l, err := parseLine(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "+"))
		r.mu.Lock()
		if err != nil {
			r.err = errors.Join(r.err, err)
		} else {
			r.reader.add(l)
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Seen reports whether a script was recorded that has called a command about key.
func (r *Recorder) Seen(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.reader.runs, func(run Run) bool {
		return slices.ContainsFunc(run.Calls, func(call []string) bool { return len(call) > 1 && call[1] == key })
	})
}

// Stop ends the recording and returns the scripts that ran, in Redis' order, up to a moment at which the
// recorder had read all their commands.
func (r *Recorder) Stop() ([]Run, error) {
	r.conn.Close()
	r.read.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, fmt.Errorf("MONITOR: %w", r.err)
	}
	return r.reader.complete(), nil
}

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Log prints what happens, with the time since the start and who does it. It is safe
// for use by many goroutines.
type Log struct {
	mu       sync.Mutex
	out      io.Writer
	start    time.Time
	terminal bool
	status   bool // guarded by mu; the last line on the terminal is a status
}

// NewLog starts the clock.
func NewLog(out io.Writer) *Log {
	return &Log{out: out, start: time.Now(), terminal: isTerminal(out)}
}

// Printf prints a line as it is.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clearLocked()
	fmt.Fprintf(l.out, format+"\n", args...)
}

// Section begins a part.
func (l *Log) Section(format string, args ...any) { l.Printf("\n"+format, args...) }

// Line tells that who did what, and what came of it.
func (l *Log) Line(who, what, format string, args ...any) {
	l.Printf("%7.3f s  %-7s  %-13s  %s", time.Since(l.start).Seconds(), who, what, fmt.Sprintf(format, args...))
}

// Status shows how far things are, in a line that the next one replaces. It is for
// people: anything but a terminal gets nothing.
func (l *Log) Status(format string, args ...any) {
	if !l.terminal {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clearLocked()
	fmt.Fprintf(l.out, format, args...)
	l.status = true
}

func (l *Log) clearLocked() {
	if l.status {
		fmt.Fprint(l.out, "\r\x1b[K") // to the start of the line, and erase it
	}
	l.status = false
}

// End says how long it all took.
func (l *Log) End() {
	l.Printf("\nDone in %.1f s. All locks are released.", time.Since(l.start).Seconds())
}

// MS prints a duration in milliseconds.
func MS(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// transcript prints what happens, with the time since the start and who does it. It is
// safe for use by many goroutines.
type transcript struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// section begins a part of the tour.
func (l *transcript) section(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "\n%s\n", title)
}

// line tells that who called what, and what came of it.
func (l *transcript) line(who, call, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%7.3f s  %-5s  %-17s  %s\n",
		time.Since(l.start).Seconds(), who, call, fmt.Sprintf(format, args...))
}

func (l *transcript) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "\nDone in %.1f s. All locks are released.\n", time.Since(l.start).Seconds())
}

// ms prints a duration in milliseconds.
func ms(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

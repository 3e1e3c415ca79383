package main

import (
	"fmt"
	"io"
	"time"
)

// timeline prints what happens, with the time since the start, the servers and who does
// it.
type timeline struct {
	out     io.Writer
	start   time.Time
	servers func() string
}

// section begins a part.
func (l *timeline) section(format string, args ...any) {
	fmt.Fprintf(l.out, "\n"+format+"\n", args...)
}

// line tells that who called what, and what came of it.
func (l *timeline) line(who, what, format string, args ...any) {
	fmt.Fprintf(l.out, "%7.3f s  [%s]  %-4s  %-13s  %s\n",
		time.Since(l.start).Seconds(), l.servers(), who, what, fmt.Sprintf(format, args...))
}

func (l *timeline) end() {
	fmt.Fprintf(l.out, "\nDone in %.1f s. All locks are released.\n", time.Since(l.start).Seconds())
}

// ms prints a duration in milliseconds.
func ms(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

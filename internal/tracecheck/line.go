package tracecheck

import (
	"fmt"
	"strconv"
	"strings"
)

// line is one line of MONITOR.
type line struct {
	at     int64 // µs of Redis' clock
	nested bool  // a script called it
	args   []string
}

// parseLine reads `1700000000.123456 [0 127.0.0.1:5555] "GET" "key"`; a nested command has lua in the brackets.
func parseLine(text string) (l line, err error) {
	stamp, rest, ok := strings.Cut(text, " [")
	source, rest, ok2 := strings.Cut(rest, "] ")
	seconds, micros, ok3 := strings.Cut(stamp, ".")
	if !ok || !ok2 || !ok3 {
		return l, fmt.Errorf("no line of MONITOR: %.80q", text)
	}
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	µs, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil {
		return l, fmt.Errorf("no time: %q", stamp)
	}
	l.at, l.nested = s*1_000_000+µs, strings.HasSuffix(source, " lua")
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return l, fmt.Errorf("no argument: %.80q", rest)
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return l, fmt.Errorf("no argument: %.80q", quoted)
		}
		l.args = append(l.args, arg)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	if len(l.args) == 0 {
		return l, fmt.Errorf("no command: %q", text)
	}
	return l, nil
}

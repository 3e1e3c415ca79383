package tracecheck

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Run is one script that Redis has executed.
type Run struct {
	At    int64  // µs of Redis' clock
	Since int64  // when Redis began it, at the earliest; not At if the server stood still
	Kind  string // the script's name: acquire, release; empty if it is not one of ours
	Keys  []string
	Args  []string
	Calls [][]string // the commands that it called, the names in capitals
}

// grouper makes runs of lines.
type grouper struct {
	runs  []Run
	kinds map[string]string // by SHA1; learnt from the EVAL that every script's first run is
	last  int64             // µs, of the line before
}

// stall is a silence, in µs, in which the server may have stood still. Under chaos it answers a PING every 10 ms. A
// script goes by the time at which it began, and MONITOR has the time of its end: the server may have been stopped in between.
const stall = 30_000

func (g *grouper) add(l line) {
	name := strings.ToUpper(l.args[0])
	defer func() { g.last = l.at }()
	switch {
	case l.nested && len(g.runs) > 0:
		last := &g.runs[len(g.runs)-1]
		l.args[0] = name
		last.Calls = append(last.Calls, l.args)
	case name == "EVAL" && len(l.args) > 2:
		sum := sha1.Sum([]byte(l.args[1]))
		sha := hex.EncodeToString(sum[:])
		if g.kinds == nil {
			g.kinds = make(map[string]string)
		}
		g.kinds[sha] = scriptName(l.args[1])
		g.begin(l, g.kinds[sha])
	case name == "EVALSHA" && len(l.args) > 2:
		g.begin(l, g.kinds[strings.ToLower(l.args[1])])
	}
}

func (g *grouper) begin(l line, kind string) {
	keys, err := strconv.Atoi(l.args[2])
	if err != nil || keys < 0 || 3+keys > len(l.args) {
		return
	}
	since := l.at
	if g.last > 0 && l.at-g.last > stall {
		since = g.last
	}
	g.runs = append(g.runs, Run{At: l.at, Since: since, Kind: kind, Keys: l.args[3 : 3+keys], Args: l.args[3+keys:]})
}

// complete returns the runs but the last, whose commands may not all have been read. An EVALSHA that called
// nothing was answered NOSCRIPT.
func (g *grouper) complete() []Run {
	if len(g.runs) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.runs[:len(g.runs)-1]), func(r Run) bool { return len(r.Calls) == 0 })
}

var header = regexp.MustCompile(`(?m)^-- (acquire|count|release|transfer|renew|leave|force|linger|report|inspect): `)

// scriptName is the name in the header of a script. The functions before it have headers too, with other names.
func scriptName(source string) string {
	if found := header.FindStringSubmatch(source); found != nil {
		return found[1]
	}
	return ""
}

// calls returns the commands of that name whose first argument is key.
func (r *Run) calls(name, key string) (found [][]string) {
	for _, call := range r.Calls {
		if call[0] == name && len(call) > 1 && call[1] == key {
			found = append(found, call)
		}
	}
	return found
}

func (r *Run) called(name, key string) bool { return len(r.calls(name, key)) > 0 }

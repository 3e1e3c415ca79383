//go:build unix

package redisson

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
)

// turn is one hold of a thread's, as the Java program reports it: when the thread
// asked, had the lock, and began to give it back.
type turn struct {
	process          int
	lock             string
	thread           int
	asked, got, left clock.Instant
}

// parseTurns reads thread:asked:got:left, separated by commas, the times in
// microseconds since 1970.
func parseTurns(text string) ([]turn, error) {
	if text == "" {
		return nil, nil
	}
	offset := clock.Of(time.Unix(0, 0))
	var turns []turn
	for entry := range strings.SplitSeq(text, ",") {
		fields := strings.Split(entry, ":")
		if len(fields) != 4 {
			return nil, fmt.Errorf("redisson: turn %q", entry)
		}
		var n [4]int64
		for i, field := range fields {
			var err error
			if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
				return nil, fmt.Errorf("redisson: turn %q: %w", entry, err)
			}
		}
		at := func(i int) clock.Instant { return offset.Add(time.Duration(n[i]) * time.Microsecond) }
		turns = append(turns, turn{thread: int(n[0]), asked: at(1), got: at(2), left: at(3)})
	}
	return turns, nil
}

// record counts the turns as the Go processes count theirs, and looks for two holders
// in them: here it is known afterwards.
func record(spec load.Spec, processes int, turns []turn, win load.Window) []load.Recording {
	recs := make([]load.Recording, processes)
	for i := range recs {
		recs[i].Goroutines = make([]load.Served, spec.Goroutines)
	}
	index := make(map[string]int) // of the locks of a process, in its commands' order
	for process := range processes {
		for i, c := range commandsOf(spec, process) {
			index[c.lock] = i
		}
	}
	for _, t := range turns {
		who := t.thread - 1
		if spec.OwnLocks {
			who = index[t.lock]
		}
		served := &recs[t.process].Goroutines[who]
		switch {
		case t.got >= win.Start && t.got < win.End:
			served.Acquired++
			served.Waits = append(served.Waits, t.got.Sub(t.asked))
		case t.asked < win.End && t.got >= win.End:
			served.Waits = append(served.Waits, win.End.Sub(t.asked))
		}
		recs[t.process].Handoffs = append(recs[t.process].Handoffs, load.Handoff{Process: t.process, Got: t.got, Left: t.left})
	}
	if !spec.Unchecked {
		recs[0].Violations = overlaps(turns)
	}
	return recs
}

// overlaps counts the turns that began before the one before had ended.
func overlaps(turns []turn) (n int) {
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.got, b.got), cmp.Compare(a.left, b.left))
	})
	for i := 1; i < len(turns); i++ {
		if turns[i].lock == turns[i-1].lock && turns[i].got < turns[i-1].left {
			n++
		}
	}
	return n
}

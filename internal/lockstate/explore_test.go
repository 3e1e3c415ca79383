package lockstate

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// explored is what there was to see.
type explored struct{ states, transitions, depth, ends int }

// node is a state of a world, as the event that led to it from an earlier one.
type node struct {
	from  int32
	depth int32
	event event
}

// seeds are for a hash of 128 bits: with half of them two of a million states would be taken for one with a
// probability of one in 37 million.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// explore goes through all states that a scenario can reach, the nearest first, so that the first violation
// comes with the shortest way to it. A world is not copied: it is made anew by its events.
func explore(t *testing.T, sc *scenario) (got explored) {
	t.Helper()
	known := make(map[[2]uint64]struct{}, 1<<16)
	nodes := []node{{from: -1}}
	var room []byte
	visit := func(w *world) (fresh bool) {
		room = w.snapshot(room)
		key := [2]uint64{maphash.Bytes(seeds[0], room), maphash.Bytes(seeds[1], room)}
		_, again := known[key]
		known[key] = struct{}{}
		return !again
	}
	visit(newWorld(sc))
	var path []event
	for at := int32(0); int(at) < len(nodes); at++ {
		path = pathTo(nodes, at, path[:0])
		w := replay(sc, path)
		events := w.events()
		if len(events) == 0 {
			got.ends++
			if stuck := w.stuck(); stuck != "" {
				t.Fatalf("%s: %s\n%s", sc.name, stuck, tell(sc, path))
			}
		}
		for i, e := range events {
			if i > 0 {
				w = replay(sc, path)
			}
			w.happen(e)
			got.transitions++
			if w.wrong != "" {
				t.Fatalf("%s: %s\n%s", sc.name, w.wrong, tell(sc, append(path, e)))
			}
			if visit(w) {
				nodes = append(nodes, node{at, nodes[at].depth + 1, e})
			}
		}
	}
	got.states, got.depth = len(nodes), int(nodes[len(nodes)-1].depth)
	return got
}

func pathTo(nodes []node, at int32, path []event) []event {
	for ; nodes[at].from >= 0; at = nodes[at].from {
		path = append(path, nodes[at].event)
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

func replay(sc *scenario, path []event) *world {
	w := newWorld(sc)
	w.replaying = true
	for _, e := range path {
		w.happen(e)
	}
	w.replaying = false
	return w
}

// tell writes a way to a state.
func tell(sc *scenario, path []event) string {
	var b strings.Builder
	w := newWorld(sc)
	for i, e := range path {
		fmt.Fprintf(&b, "%2d %7s  %s\n", i+1, at(w.now), w.name(e))
		w.happen(e)
	}
	fmt.Fprintf(&b, "Redis: %+v\n", w.redis.fields)
	return b.String()
}

// name is an event with the names of those that it is about.
func (w *world) name(e event) string {
	switch e.kind {
	case enters, takes, callLeaves, leavesAtLimit, unlocks:
		return w.calls[e.i].name + ": " + eventNames[e.kind]
	case beginsTask:
		t := w.tasks[e.i]
		what := fmt.Sprintf("the turn is for %s %s", taskNames[t.kind], t.owner)
		if t.call != nil {
			what += t.call.name
		}
		if t.o != nil {
			what += t.o.owner
		}
		return what
	case renewed1, renewedUnanswered, renewedLate, reported:
		return w.s.owners[e.i].owner + ": " + eventNames[e.kind]
	}
	if f := w.flight; f != nil && e.kind >= runsAndAnswered && e.kind <= commandRefusedRetried {
		return fmt.Sprintf("%s (%s of %s)", eventNames[e.kind], f.step, f.cmd.to)
	}
	return eventNames[e.kind]
}

var taskNames = [...]string{"attempt", "release", "count", "re-entry", "repair", "clean-up", "freeing", "leaving", "sync"}

package oracle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlatch/redlatch/internal/history"
)

// Scene is a part of a history: of one lock, from an instant at which it was free, or from
// the beginning, until another.
type Scene struct {
	Lock        string
	From, Until history.Instant
	Worth       int // how much there is to see
}

// Picture writes a page for a browser that shows what happened in a scene, in which order
// that can have been, and the faults of that time. highest has the tokens issued before the
// history.
func Picture(w io.Writer, h history.History, scene Scene, highest map[string]int64) error {
	lock, from, until := scene.Lock, scene.From, scene.Until
	part := window(h, lock, from, until)
	ops := steps(part, true)[lock]
	for i := range ops {
		// Those that are open to the end reach to the edge of the picture.
		ops[i].Return = min(ops[i].Return, int64(until))
	}
	model := modelOf(ops, highest[lock])
	_, info := porcupine.CheckOperationsVerbose(model, ops, 10*time.Second)
	info.AddAnnotations(annotations(part, ops, until))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("oracle: drawing lock %s: %w", lock, err)
	}
	return nil
}

// window takes the part of a history that is about one lock and in [from, until]: without
// the grants that came later, whose causes are not in it, and with the releases of that
// time left open if they returned later.
func window(h history.History, lock string, from, until history.Instant) (part history.History) {
	for _, op := range h.Ops {
		granted := op.Kind == history.Acquire && op.Outcome == history.OK
		switch {
		case op.Lock != lock, op.Call > until, op.Return < from, op.Call < from && !granted, granted && op.Return > until:
			continue
		}
		part.Ops = append(part.Ops, op)
	}
	for _, f := range h.Faults {
		if f.Touches(from, until) {
			f.Start, f.End = max(f.Start, from), min(f.End, until)
			part.Faults = append(part.Faults, f)
		}
	}
	return part
}

// Busiest picks what is worth a picture: a scene of about so many operations, with tokens,
// many kinds of faults, and many losses.
func Busiest(h history.History, operations int) (best Scene) {
	best.Worth = -1
	all := steps(h, true)
	inOrder(holds(h.Ops), func(name string, list []*hold) {
		ops := all[name]
		for _, begin := range freeAt(list) {
			first, _ := slices.BinarySearchFunc(ops, int64(begin), func(op porcupine.Operation, at int64) int { return cmp.Compare(op.Call, at) })
			if first == len(ops) {
				break
			}
			end := history.Instant(ops[min(len(ops)-1, first+operations)].Call)
			if score := worth(h, name, begin, end); score > best.Worth {
				best = Scene{Lock: name, From: begin, Until: end, Worth: score}
			}
		}
	})
	return best
}

// freeAt is the beginning of the history and, in each tenth of a second, an instant at which
// all holds that were granted before had ended.
func freeAt(list []*hold) (free []history.Instant) {
	const apart = 100 * time.Millisecond
	free = append(free, 0)
	var busy history.Instant // until then somebody has it
	for _, h := range list {
		if h.call > busy && busy > free[len(free)-1].Add(apart) {
			free = append(free, busy+1)
		}
		end := h.over
		if h.released != nil {
			end = h.released.Return
		}
		busy = max(busy, end)
	}
	return free
}

func worth(h history.History, lock string, from, until history.Instant) (score int) {
	kinds, tokens := make(map[string]bool), false
	for _, f := range h.Faults {
		if f.Touches(from, until) {
			kinds[f.Kind] = true
		}
	}
	for _, op := range h.Ops {
		if op.Lock != lock || op.Call < from || op.Call > until {
			continue
		}
		if op.Kind == history.Lost {
			score++
		}
		tokens = tokens || op.Token != 0
	}
	if tokens {
		score += 2
	}
	return score + len(kinds)
}

func annotations(h history.History, ops []porcupine.Operation, until history.Instant) (list []porcupine.Annotation) {
	for _, f := range h.Faults {
		tag := "server"
		if f.Client != history.Everyone {
			tag = fmt.Sprintf("client %d", f.Client)
		}
		list = append(list, porcupine.Annotation{
			Tag: tag, Start: int64(f.Start), End: int64(min(f.End, until)),
			Description: f.Kind, Details: f.String(), BackgroundColor: "#f2d0a9",
		})
	}
	for _, op := range h.Ops {
		text := ""
		switch {
		case op.Kind == history.Renewed:
			text = "renewed"
		case op.Kind == history.Lost:
			text = "told that it is lost"
		default:
			continue
		}
		list = append(list, porcupine.Annotation{
			Tag: "told", Start: int64(op.Call), Description: text, BackgroundColor: "#cfe3f5",
			Details: strings.Join([]string{op.Owner, text, "valid until " + op.ValidUntil.String()}, ", "),
		})
	}
	slices.SortFunc(list, func(a, b porcupine.Annotation) int { return strings.Compare(a.Tag, b.Tag) })
	return list
}

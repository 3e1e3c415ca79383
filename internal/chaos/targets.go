package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/reentrant"
)

// The kinds of locks, as [Options] names them.
const (
	plain     = "plain"
	readWrite = "rw"
	fair      = "fair"
)

// target is one lock that all fight for.
type target struct {
	name   string
	kind   string
	fenced bool
}

var allTargets = []target{
	{name: "stock", kind: plain},
	{name: "orders", kind: plain, fenced: true},
	{name: "report", kind: plain},
	{name: "{job}:15:00", kind: plain, fenced: true},
	{name: "catalog", kind: readWrite, fenced: true},
	{name: "{seats}:row", kind: fair, fenced: true},
}

// targetsOf returns the locks of those kinds, which are separated by commas; all for none.
func targetsOf(kinds string) ([]target, error) {
	if kinds == "" {
		return allTargets, nil
	}
	wanted := strings.Split(kinds, ",")
	for _, kind := range wanted {
		if !slices.Contains([]string{plain, readWrite, fair}, kind) {
			return nil, fmt.Errorf("chaos: there is no kind of lock %q", kind)
		}
	}
	return slices.DeleteFunc(slices.Clone(allTargets), func(t target) bool { return !slices.Contains(wanted, t.kind) }), nil
}

func namesOf(targets []target) (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// sides are what the sides of the lock are called in the history.
func (t target) sides() []history.Side {
	if t.kind == readWrite {
		return []history.Side{history.Writing, history.Reading}
	}
	return []history.Side{""}
}

// lock is the lock, or a side of it, as a Client has it.
func (t target) lock(c *reentrant.Client, side history.Side) *reentrant.Lock {
	var options []reentrant.LockOption
	if t.fenced {
		options = append(options, reentrant.WithFencing())
	}
	switch {
	case t.kind == fair:
		return c.NewFairLock(t.name, options...)
	case side == history.Reading:
		return c.NewReadWriteLock(t.name, options...).Read()
	case side == history.Writing:
		return c.NewReadWriteLock(t.name, options...).Write()
	default:
		return c.NewLock(t.name, options...)
	}
}

// side is one side of a lock; of most locks it is the lock itself.
type side struct {
	target
	side history.Side
}

func everySide(targets []target) (all []side) {
	for _, t := range targets {
		for _, s := range t.sides() {
			all = append(all, side{t, s})
		}
	}
	return all
}

package oracle

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/redlatch/redlatch/internal/history"
)

// state is what one lock may be like between two steps. It is compared with ==.
type state struct {
	owner  string // empty: the lock is free
	holds  ids    // the owner's; empty beside an owner: Redis has a lock that nobody counts on
	token  int64  // the highest issued so far
	ghosts ids    // holds that Redis has forgotten and their owners do not know to be over
}

// step is what one operation does to the lock.
type step struct {
	does     does
	hold     int64
	owner    string
	side     history.Side
	token    int64 // 0: none, or not known
	inherits bool  // takes: perhaps by a write-behind hand-off on a lease that Redis has forgotten
	note     string
}

type does int

const (
	takes      does = iota // a hold was granted
	mayTake                // a call ended without one, and its command may have run or may run yet
	frees                  // a hold was released, and Redis has confirmed
	mayFree                // a hold was released, and Redis did not confirm
	mayLose                // a hold was lost: its lease may have ended in Redis
	doesForget             // Redis has lost the lock
	isRefused              // the lock was busy
)

// lockModel is a reentrant lock with leases and fencing, by what calls may do to it.
//
// Nothing is asked of a refusal: a free lock is kept for a moment for a client that was
// woken, so "busy" may be the answer while nobody has it.
func lockModel(highest int64) porcupine.Model {
	return modelFrom(state{token: highest})
}

// lock is the state of a lock, by the rules of its kind. States are compared with ==.
type lock interface {
	after(x step) []lock
	String() string
}

// modelOf is the model of the kind of lock that the operations are about.
func modelOf(ops []porcupine.Operation, highest int64) porcupine.Model {
	if slices.ContainsFunc(ops, func(op porcupine.Operation) bool { return op.Input.(step).side != "" }) {
		return modelFrom(rwState{token: highest})
	}
	return lockModel(highest)
}

func modelFrom(first lock) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{first} },
		Equal: func(a, b any) bool { return a == b },
		Step: func(from, input, _ any) []any {
			next := from.(lock).after(input.(step))
			states := make([]any, len(next))
			for i, s := range next {
				states[i] = s
			}
			return states
		},
		DescribeOperation: func(input, _ any) string { return input.(step).String() },
		DescribeState:     func(s any) string { return s.(lock).String() },
	}
	return model.ToModel()
}

// after is every state that may follow on a step; none if it cannot be taken.
func (s state) after(x step) []lock {
	switch x.does {
	case takes:
		next := s.granted(x)
		if x.inherits {
			s.ghosts = s.ghosts.with(x.hold)
			next = append(next, s)
		}
		return next
	case mayTake:
		if s.owner == "" {
			return []lock{s, state{owner: x.owner, token: s.token, ghosts: s.ghosts}}
		}
	case frees, mayFree, mayLose:
		return s.ended(x)
	case doesForget:
		return []lock{state{token: s.token, ghosts: s.ghosts.with(s.holds.list()...)}}
	}
	return []lock{s}
}

func (s state) granted(x step) []lock {
	switch {
	case s.owner == x.owner && s.holds != "" && (x.token == s.token || x.token == 0): // re-entry
	case x.token != 0 && x.token <= s.token:
		return nil
	case s.owner == "", s.owner == x.owner && s.holds == "":
		s.owner, s.token, s.holds = x.owner, max(s.token, x.token), ""
	default:
		return nil
	}
	s.holds = s.holds.with(x.hold)
	return []lock{s}
}

func (s state) ended(x step) []lock {
	if s.ghosts.has(x.hold) {
		s.ghosts = s.ghosts.without(x.hold)
		return []lock{s}
	}
	if !s.holds.has(x.hold) {
		if x.does == frees {
			return nil
		}
		return []lock{s}
	}
	next := s
	next.holds = s.holds.without(x.hold)
	free := next
	if next.holds == "" {
		free.owner = ""
	}
	switch {
	case x.does == frees, next.holds != "" && x.does == mayFree:
		return []lock{free}
	case x.does == mayFree:
		return []lock{free, next} // next has the owner's field, and no hold
	default:
		return []lock{free, s}
	}
}

func (x step) String() string {
	text := [...]string{
		takes: "takes it", mayTake: "may have taken it", frees: "releases it", mayFree: "may have released it",
		mayLose: "loses it", doesForget: "Redis forgets it", isRefused: "finds it busy",
	}[x.does]
	if x.side != "" {
		text += " (" + string(x.side) + ")"
	}
	if x.owner != "" {
		text = x.owner + " " + text
	}
	if x.token != 0 {
		text += fmt.Sprintf(", token %d", x.token)
	}
	if x.note != "" {
		text += " (" + x.note + ")"
	}
	return text
}

func (s state) String() string {
	text := "free"
	switch {
	case s.holds != "":
		text = fmt.Sprintf("%s has it %d times", s.owner, len(s.holds.list()))
	case s.owner != "":
		text = "left behind by " + s.owner
	}
	if s.token != 0 {
		text += fmt.Sprintf(", token %d", s.token)
	}
	return text
}

// ids is a set of holds that can be compared: four bytes each, in order.
type ids string

func (s ids) list() (list []int64) {
	for i := 0; i < len(s); i += 4 {
		list = append(list, int64(s[i])<<24|int64(s[i+1])<<16|int64(s[i+2])<<8|int64(s[i+3]))
	}
	return list
}

func makeIDs(list []int64) ids {
	slices.Sort(list)
	b := make([]byte, 0, 4*len(list))
	for _, id := range slices.Compact(list) {
		b = append(b, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
	}
	return ids(b)
}

func (s ids) has(id int64) bool { return slices.Contains(s.list(), id) }

func (s ids) with(more ...int64) ids { return makeIDs(append(s.list(), more...)) }

func (s ids) without(id int64) ids {
	return makeIDs(slices.DeleteFunc(s.list(), func(other int64) bool { return other == id }))
}

// endOfTime is after every instant of a history, and leaves room to count beyond.
const endOfTime = int64(history.Never) / 2

package oracle

import (
	"fmt"

	"github.com/redlatch/redlatch/internal/history"
)

// rwState is what one read-write lock may be like between two steps. It is compared with ==.
//
// An end that Redis has not confirmed is an end here, at any time in its window. Redis may keep the field for longer, and
// that only keeps others out.
type rwState struct {
	writer string // empty: nobody writes
	writes ids    // the writer's holds
	reads  ids    // the holds of all readers
	token  int64  // the highest issued so far, to writers
	ghosts ids    // holds that Redis has forgotten and their owners do not know to be over
}

// after is every state that may follow on a step; none if it cannot be taken.
func (s rwState) after(x step) []lock {
	switch x.does {
	case takes:
		next := s.granted(x)
		if x.inherits {
			s.ghosts = s.ghosts.with(x.hold)
			next = append(next, s)
		}
		return next
	case frees, mayFree, mayLose:
		return s.ended(x)
	case doesForget:
		return []lock{rwState{token: s.token, ghosts: s.ghosts.with(append(s.reads.list(), s.writes.list()...)...)}}
	}
	return []lock{s}
}

// granted lets a read in beside other reads and its own owner's write, and a write only beside writes of its own owner:
// who reads already is refused an upgrade.
func (s rwState) granted(x step) []lock {
	free := s.writer == "" && s.reads == ""
	switch {
	case x.side == history.Reading:
		if s.writer != "" && s.writer != x.owner {
			return nil
		}
		s.reads = s.reads.with(x.hold)
		return []lock{s}
	case s.writer == x.owner && (x.token == s.token || x.token == 0): // re-entry
	case !free, x.token != 0 && x.token <= s.token:
		return nil
	}
	s.writer, s.token, s.writes = x.owner, max(s.token, x.token), s.writes.with(x.hold)
	return []lock{s}
}

func (s rwState) ended(x step) []lock {
	switch {
	case s.ghosts.has(x.hold):
		s.ghosts = s.ghosts.without(x.hold)
	case s.reads.has(x.hold):
		s.reads = s.reads.without(x.hold)
	case s.writes.has(x.hold):
		s.writes = s.writes.without(x.hold)
		if s.writes == "" {
			s.writer = ""
		}
	case x.does == frees:
		return nil
	}
	return []lock{s}
}

func (s rwState) String() string {
	text := "free"
	switch {
	case s.writer != "":
		text = fmt.Sprintf("%s writes, %d times", s.writer, len(s.writes.list()))
		if s.reads != "" {
			text += ", and reads"
		}
	case s.reads != "":
		text = fmt.Sprintf("%d reads", len(s.reads.list()))
	}
	if s.token != 0 {
		text += fmt.Sprintf(", token %d", s.token)
	}
	return text
}

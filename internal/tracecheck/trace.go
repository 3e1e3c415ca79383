package tracecheck

import "fmt"

// Trace is what Redis executed about one lock, from a moment at which nobody had ever asked for it.
type Trace struct {
	Name    string // for messages
	Entries []Entry
	Cut     error // why the trace ends; nil: the recording ended, or most entries were reached
}

// Convert makes the trace of one lock, of at most most entries. A script that the model does not know, or one that Redis
// refused in part, ends it.
func Convert(name, lock string, runs []Run, most int) *Trace {
	t := &Trace{Name: name}
	for i := range runs {
		e, err := read(&runs[i], lock)
		if err != nil {
			t.Cut = fmt.Errorf("after entry %d: %w", len(t.Entries), err)
			break
		}
		if e == nil {
			continue
		}
		if len(t.Entries) == most {
			break
		}
		t.Entries = append(t.Entries, *e)
	}
	for i, began := 0, start(t.Entries); i < len(t.Entries); i++ {
		t.Entries[i].At -= began
		t.Entries[i].Since = max(0, t.Entries[i].Since-began)
	}
	return t
}

// start is a moment before the first entry.
func start(entries []Entry) int64 {
	if len(entries) == 0 {
		return 0
	}
	return entries[0].At - 1
}

// numbered reports whether an entry's script is a command with a number.
func (e *Entry) numbered() bool { return e.Number > 0 }

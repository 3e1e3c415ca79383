package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// line is one record: exactly one field is set.
type line struct {
	Head  *Head  `json:",omitempty"`
	Op    *Op    `json:",omitempty"`
	Fault *Fault `json:",omitempty"`
}

// Head says where a history comes from: the first line.
type Head struct {
	Seed  uint64
	Round int
	Note  string
}

// Write writes a history, one record a line: head, faults, operations.
func Write(w io.Writer, head Head, h History) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	err := enc.Encode(line{Head: &head})
	for i := range h.Faults {
		err = errors.Join(err, enc.Encode(line{Fault: &h.Faults[i]}))
	}
	for i := range h.Ops {
		err = errors.Join(err, enc.Encode(line{Op: &h.Ops[i]}))
	}
	return errors.Join(err, buffered.Flush())
}

// Read reads what [Write] has written.
func Read(r io.Reader) (head Head, h History, err error) {
	dec := json.NewDecoder(r)
	for n := 1; ; n++ {
		var l line
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return head, h, nil
		} else if err != nil {
			return head, h, fmt.Errorf("history: record %d: %w", n, err)
		}
		switch {
		case l.Head != nil:
			head = *l.Head
		case l.Op != nil:
			h.Ops = append(h.Ops, *l.Op)
		case l.Fault != nil:
			h.Faults = append(h.Faults, *l.Fault)
		default:
			return head, h, fmt.Errorf("history: record %d is none that is known", n)
		}
	}
}

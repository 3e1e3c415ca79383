package oracle

import "fmt"

// Violation is one thing that must not be.
type Violation struct {
	Oracle string // which one found it
	Lock   string // empty if it is not about one lock
	Text   string
}

func (v Violation) String() string {
	if v.Lock == "" {
		return v.Oracle + ": " + v.Text
	}
	return v.Oracle + ": lock " + v.Lock + ": " + v.Text
}

func violated(oracle, lock, format string, args ...any) Violation {
	return Violation{oracle, lock, fmt.Sprintf(format, args...)}
}

//go:build unix

package load

import (
	"sync"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// Words of a crowd and of a churn.
const (
	wordInside = 0 // the guard
	wordServed = 1 // acquisitions by all processes
	wordLast   = 2 // the instant of the last of them
	wordFailed = 3 // not 0 when somebody got an error: nobody is to wait for the last
)

// Cost is what a crowd or a churn has cost one process. What is left behind is
// looked at when all has been at rest for Spec.Rest.
type Cost struct {
	Memory, Stacks int64 // bytes more while all wait; Memory is of heap and stacks, Stacks of these alone
	Goroutines     int   // more while all wait, the waiters' own among them
	CPU            time.Duration
	LeftMemory     int64 // bytes more than before
	LeftGoroutines int
}

// Tally counts the acquisitions of all processes in shared memory, where the parent
// sees at once that the last has been made.
type Tally struct {
	words *shared.Words
	total int
}

// NewTally counts up to total.
func NewTally(words *shared.Words, total int) Tally { return Tally{words, total} }

// add counts one.
func (t Tally) add() {
	if t.words.Word(wordServed).Add(1) == int64(t.total) {
		t.words.Word(wordLast).Store(int64(clock.Now()))
	}
}

// Served is how many have been counted.
func (t Tally) Served() int { return int(t.words.Word(wordServed).Load()) }

// Last is the instant of the last, and false before it.
func (t Tally) Last() (clock.Instant, bool) {
	last := t.words.Word(wordLast).Load()
	return clock.Instant(last), last != 0
}

// fail tells the parent.
func (t Tally) fail() { t.words.Word(wordFailed).Store(1) }

// Over reports whether the last has been counted or somebody has failed.
func (t Tally) Over() bool {
	_, all := t.Last()
	return all || t.words.Word(wordFailed).Load() != 0
}

// firstError keeps the first of many errors, which are mostly the same, and calls
// off the rest.
type firstError struct {
	once sync.Once
	err  error
	then func()
}

func (f *firstError) note(err error) {
	if err != nil {
		f.once.Do(func() {
			f.err = err
			f.then()
		})
	}
}

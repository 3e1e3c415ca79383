//go:build unix

package shared_test

import (
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

func TestGuard(t *testing.T) {
	type step struct {
		what func(shared.Guard) bool
		want bool
	}
	in, out := shared.Guard.Enter, shared.Guard.Leave
	read, done := shared.Guard.EnterReading, shared.Guard.LeaveReading
	for name, steps := range map[string][]step{
		"in turn":                  {{in, true}, {out, true}, {in, true}, {out, true}},
		"two at once":              {{in, true}, {in, false}, {out, false}, {out, true}},
		"readers together":         {{read, true}, {read, true}, {done, true}, {done, true}, {in, true}},
		"a reader beside a writer": {{in, true}, {read, false}, {out, false}, {done, true}},
		"a writer beside a reader": {{read, true}, {in, false}, {done, false}, {out, true}},
	} {
		guard := shared.GuardAt(new(atomic.Int64))
		for i, s := range steps {
			if got := s.what(guard); got != s.want {
				t.Errorf("%s: step %d: %v, want %v", name, i, got, s.want)
			}
		}
	}
}

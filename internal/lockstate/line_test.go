package lockstate

import (
	"slices"
	"testing"
)

// Tickets are in the order of their numbers, whatever their owners are called.
func TestByArrival(t *testing.T) {
	want := []string{"c:z#9", "c:a#1#10", "c:#2#11", "c:b#100"}
	got := []string{"c:b#100", "c:#2#11", "c:z#9", "c:a#1#10"}
	if slices.SortFunc(got, byArrival); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

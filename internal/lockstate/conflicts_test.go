package lockstate

import "testing"

// Who waits for whom: rows hold the lock, columns want it.
func TestConflicts(t *testing.T) {
	modes := []Mode{Exclusive, Shared}
	conflicts := map[Mode]map[Mode]bool{
		Exclusive: {Exclusive: true, Shared: true},
		Shared:    {Exclusive: true, Shared: false},
	}
	// One command may move the field only between two owners who each have the lock alone.
	transfers := map[Mode]map[Mode]bool{
		Exclusive: {Exclusive: true, Shared: false},
		Shared:    {Exclusive: false, Shared: false},
	}
	for _, held := range modes {
		for _, wanted := range modes {
			if got := Conflicts(held, wanted); got != conflicts[held][wanted] {
				t.Errorf("held %d, wanted %d: conflicts %v", held, wanted, got)
			}
			if got := transferable(held, wanted); got != transfers[held][wanted] {
				t.Errorf("from %d to %d: transferable %v", held, wanted, got)
			}
			if Conflicts(held, wanted) != Conflicts(wanted, held) {
				t.Errorf("%d and %d: only one of them waits for the other", held, wanted)
			}
		}
	}
}

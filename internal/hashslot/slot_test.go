package hashslot_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/hashslot"
)

// The values are Redis' (CLUSTER KEYSLOT).
func TestSlots(t *testing.T) {
	for name, want := range map[string]int{
		"": 0, "123456789": 12739, "foo": 12182, "{foo}.bar": 12182, "foo{}{bar}": 8363,
		"foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061, "a{b": 13340, "a}b{c}": 7365,
	} {
		if got := hashslot.Of(name); got != want {
			t.Errorf("%q is in slot %d, want %d", name, got, want)
		}
	}
}

package pubsub_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/pubsub"
)

// testSlot is the slot of a channel, from a table and not bit by bit.
func testSlot(channel string) int {
	if i := strings.IndexByte(channel, '{'); i >= 0 {
		if j := strings.IndexByte(channel[i+1:], '}'); j > 0 {
			channel = channel[i+1 : i+1+j]
		}
	}
	var crc uint16
	for _, b := range []byte(channel) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return int(crc % 16384)
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc>>15 == 1 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// The values are Redis' (CLUSTER KEYSLOT).
func TestSlots(t *testing.T) {
	for name, want := range map[string]int{
		"": 0, "123456789": 12739, "foo": 12182, "{foo}.bar": 12182, "foo{}{bar}": 8363,
		"foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061, "a{b": 13340, "a}b{c}": 7365,
	} {
		if got := pubsub.SlotOf(name); got != want {
			t.Errorf("%q is in slot %d, want %d", name, got, want)
		}
		if got := testSlot(name); got != want {
			t.Errorf("%q is in slot %d by the table, want %d", name, got, want)
		}
	}
}

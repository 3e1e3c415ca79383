package pubsub

import "strings"

const slotCount = 16384

// slotOf returns the hash slot of a channel or key: CRC16 (XMODEM) of the hash tag, which is the text
// between the first brace and the next closing one, or of the whole name if there is no tag.
func slotOf(name string) int {
	if _, rest, found := strings.Cut(name, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			name = tag
		}
	}
	var crc uint16
	for i := range len(name) {
		crc ^= uint16(name[i]) << 8
		for range 8 {
			carry := crc & 0x8000
			crc <<= 1
			if carry != 0 {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slotCount
}

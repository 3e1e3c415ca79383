// Package hashslot says in which of a Cluster's slots a key or channel is. Its functions keep
// nothing: there are no goroutines and no mutexes.
package hashslot

import "strings"

// Count is how many slots a Cluster has: 0 to Count-1.
const Count = 16384

// Of returns the hash slot of a key or channel, as the cluster specification has it
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/): CRC16 (XMODEM)
// of the hash tag, which is what stands between the first brace and the next closing one, or
// else of all of it.
func Of(name string) int {
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
	return int(crc) % Count
}

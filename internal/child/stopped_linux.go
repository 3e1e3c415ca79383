package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// stopped reports whether all threads of the process stand still. A process that has
// ended does too.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state comes after the name, which is in parentheses and may have any in it.
		_, after, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if !bytes.HasPrefix(after, []byte("T")) && !bytes.HasPrefix(after, []byte("Z")) && !bytes.HasPrefix(after, []byte("X")) {
			return false
		}
	}
	return true
}

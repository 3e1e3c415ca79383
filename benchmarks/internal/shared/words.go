//go:build unix

// Package shared is memory that all processes of a benchmark see: a mapped file. It
// is where they check that nobody else holds a lock, at the price of two atomic
// additions, which disturb what is measured far less than a command to Redis would.
package shared

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words are atomic integers in a mapped file, zero at first. Each has a cache line
// of its own, so that goroutines with a lock each do not slow each other down.
type Words struct{ mem []byte }

const line = 64

// Create makes a file of n words.
func Create(path string, n int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(n) * line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Map maps a file that Create has made.
func Map(path string) (*Words, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &Words{mem: mem}, nil
}

// Word is the i-th word.
func (w *Words) Word(i int) *atomic.Int64 {
	return (*atomic.Int64)(unsafe.Pointer(&w.mem[i*line]))
}

// Unmap ends the use of all words.
func (w *Words) Unmap() error { return unix.Munmap(w.mem) }

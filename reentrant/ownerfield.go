package reentrant

import (
	"strconv"
	"sync/atomic"

	"github.com/redlatch/redlatch/internal/goroutine"
)

// ownerFields remembers the fields of the goroutines that called last, at the goroutine's ID modulo the
// number of places. So a goroutine that takes a lock and releases it, or works in a loop, makes its field
// once: to make it costs a seventh of a write-behind hand-off.
//
// The runtime never gives an ID to a second goroutine, so an entry is never wrong. If two goroutines have
// one place, each replaces the other's entry, which costs them the allocation only.
type ownerFields [256]atomic.Pointer[ownerField]

// ownerField does not change once it is made.
type ownerField struct {
	goroutine int64
	field     string
}

// goroutine is the field of the calling goroutine in the hash of a lock.
func (c *Client) goroutine() string {
	id := goroutine.ID()
	place := &c.fields[uint64(id)%uint64(len(c.fields))]
	if known := place.Load(); known != nil && known.goroutine == id {
		return known.field
	}
	var buf [64]byte // one allocation, for the string
	field := string(strconv.AppendInt(append(append(buf[:0], c.id...), ':'), id, 10))
	place.Store(&ownerField{id, field})
	return field
}

package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// hold is one hold of one owner, put together from the records about it.
type hold struct {
	id     int64
	client int
	owner  string
	lock   string
	token  int64
	lease  time.Duration
	fixed  bool
	behind bool
	nested bool
	side   history.Side
	field  string

	call  history.Instant // of the Acquire
	from  history.Instant // its return: trust begins
	until history.Instant // the first of the release's call, the news of the loss, the end of validity
	valid history.Instant // the last validity that is known; 0: none
	over  history.Instant // when its owner knew that it had ended; Never if it did not

	released *history.Op // nil if it was not
	lost     history.Instant
}

// trusted reports whether its owner could believe in it for any time at all.
func (h *hold) trusted() bool { return h.from < h.until }

func (h *hold) String() string {
	s := fmt.Sprintf("%s (hold %d, %v to %v", h.owner, h.id, h.from, h.until)
	if h.token != 0 {
		s += fmt.Sprintf(", token %d", h.token)
	}
	return s + ")"
}

// ends takes the validity that a record of the end tells. It is the last word for a fixed read: inside a shared lease, its
// validity is that of the shared lease, and its own again once the owner has no renewed hold any more.
func (h *hold) ends(validUntil history.Instant) {
	if h.fixed && h.side == history.Reading && validUntil != 0 {
		h.valid = validUntil
		return
	}
	h.valid = max(h.valid, validUntil)
}

// holds returns the holds of each lock in the order in which they were granted.
func holds(ops []history.Op) map[string][]*hold {
	byID := make(map[int64]*hold)
	for i := range ops {
		op := &ops[i]
		if op.Kind == history.Acquire && op.Outcome == history.OK {
			byID[op.Hold] = &hold{
				id: op.Hold, client: op.Client, owner: op.Owner, lock: op.Lock, token: op.Token,
				lease: op.Lease, fixed: op.Fixed, behind: op.Behind, nested: op.Nested, side: op.Side, field: op.Field,
				call: op.Call, from: op.Return, until: history.Never, over: history.Never,
				valid: op.ValidUntil, lost: history.Never,
			}
		}
	}
	for i := range ops {
		op := &ops[i]
		h := byID[op.Hold]
		if h == nil {
			continue
		}
		switch op.Kind {
		case history.Renewed:
			h.valid = max(h.valid, op.ValidUntil)
		case history.Lost:
			h.ends(op.ValidUntil)
			h.lost = min(h.lost, op.Call)
			h.until = min(h.until, op.Call)
			h.over = min(h.over, op.Call)
		case history.Release:
			h.released = op
			h.ends(op.ValidUntil)
			h.until = min(h.until, op.Call)
			h.over = min(h.over, op.Return)
		}
	}
	byLock := make(map[string][]*hold)
	for _, h := range byID {
		switch {
		case h.valid != 0:
			h.until = min(h.until, h.valid)
		case h.released == nil, h.released.Outcome == history.Gone, h.released.Outcome == history.Closed:
			// Nobody knows for how long it could be trusted. Who holds a lock by Lock is not
			// told when it is lost, or when the Client is closed under it.
			h.until = h.from
		}
		byLock[h.lock] = append(byLock[h.lock], h)
	}
	for _, list := range byLock {
		slices.SortFunc(list, func(a, b *hold) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.id, b.id))
		})
	}
	return byLock
}

// inOrder walks a map by its keys, so that reports are the same each time.
func inOrder[V any](m map[string]V, visit func(string, V)) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		visit(key, m[key])
	}
}

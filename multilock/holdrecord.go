package multilock

import (
	"cmp"
	"slices"
	"sync"
)

// maxLost bounds how many lost holds a MultiLock remembers so that their Unlock can return
// [reentrant.ErrLost]. The oldest are forgotten first: callers may let fixed leases run out and never
// unlock, and must not cost memory for ever.
const maxLost = 1024

// holdRecord holds the holds of a MultiLock by owner, for Unlock and for nested calls. A MultiLock
// and all that [MultiLock.With] makes of it share one.
type holdRecord struct {
	mu    sync.Mutex
	holds map[string][]*Hold // by owner, the innermost last; guarded by mu
	lost  []*Hold            // holds that are lost, oldest first, at most maxLost; guarded by mu
}

func newHoldRecord() *holdRecord { return &holdRecord{holds: make(map[string][]*Hold)} }

// remember enters a hold in its owner's record. A hold that was taken as an outermost one may find
// that another call of the same owner has got a hold meanwhile. It then shares the tenure of that
// hold.
func (r *holdRecord) remember(h *Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.holds[h.owner] {
		select {
		case <-other.lost:
		default:
			h.tenure = cmp.Or(h.tenure, other.tenure)
		}
	}
	h.tenure = cmp.Or(h.tenure, new(tenure))
	r.holds[h.owner] = append(r.holds[h.owner], h)
}

// rememberLost notes that a hold on the record is lost.
func (r *holdRecord) rememberLost(h *Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.holds[h.owner], h) || slices.Contains(r.lost, h) {
		return
	}
	r.lost = append(r.lost, h)
	if len(r.lost) > maxLost {
		r.drop(r.lost[0])
	}
}

// forget takes a hold off the record.
func (r *holdRecord) forget(h *Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(h)
}

// pop takes the hold off the record that the caller's Unlock releases, nil if there is none. It is
// the last hold that is for Unlock; if ctx comes from a tenure, the last one of that tenure. Other
// holds are left alone: another caller or an outer MultiLock releases them, and their ctx must not
// end before. others reports whether the owner has such holds.
func (r *holdRecord) pop(id identity) (h *Hold, others bool) {
	if r == nil { // of the zero value
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	holds := r.holds[id.owner]
	for _, h := range slices.Backward(holds) {
		if h.use == forUnlock && id.has(h) {
			r.drop(h)
			return h, false
		}
	}
	return nil, len(holds) > 0
}

// outlived reports whether a hold for Unlock of the same tenure is still on the record.
func (r *holdRecord) outlived(h *Hold) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.holds[h.owner], func(other *Hold) bool {
		return other.use == forUnlock && other.tenure == h.tenure
	})
}

// drop takes a hold off both lists. The caller has mu.
func (r *holdRecord) drop(h *Hold) {
	same := func(other *Hold) bool { return other == h }
	r.lost = slices.DeleteFunc(r.lost, same)
	rest := slices.DeleteFunc(r.holds[h.owner], same)
	if len(rest) == 0 {
		delete(r.holds, h.owner)
		return
	}
	r.holds[h.owner] = rest
}

// innermost is the hold in which a call is nested, nil if there is none.
func (r *holdRecord) innermost(id identity) *Hold {
	r.mu.Lock()
	holds := slices.Clone(r.holds[id.owner])
	r.mu.Unlock()
	for _, h := range slices.Backward(holds) {
		if id.has(h) && h.loss() == nil {
			return h
		}
	}
	return nil
}

// owed is the loss of a hold that the owner has not released yet. The owner may believe that it has
// the lock, so a nested call must not take the lock anew. Fixed leases that have run out do not
// count, since they need not be released.
func (r *holdRecord) owed(owner string) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	holds := slices.Clone(r.holds[owner])
	r.mu.Unlock()
	for _, h := range slices.Backward(holds) {
		if lost := h.loss(); lost != nil && !h.ranOut() {
			return lost
		}
	}
	return nil
}

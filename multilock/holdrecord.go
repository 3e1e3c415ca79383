package multilock

import (
	"cmp"
	"slices"
	"sync"
)

// maxLost bounds how many lost holds a MultiLock remembers so that their Unlock can
// answer [reentrant.ErrLost]. The oldest are forgotten first: callers that let fixed
// leases run out and never unlock must not cost memory for ever.
const maxLost = 1024

// holdRecord is who holds a MultiLock, for Unlock and nested calls. All that [MultiLock.With] makes of one
// MultiLock share it.
type holdRecord struct {
	mu    sync.Mutex
	holds map[string][]*Hold // by owner, the innermost last; guarded by mu
	lost  []*Hold            // those of holds that are lost, oldest first, at most maxLost; guarded by mu
}

func newHoldRecord() *holdRecord { return &holdRecord{holds: make(map[string][]*Hold)} }

// remember puts a hold on its owner's record. Unless it is nested already it shares the tenure of a hold that another call
// of the owner has got meanwhile.
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

// pop takes the hold off the record that the caller's Unlock releases, nil if there is
// none: the last that is for Unlock, of the tenure that ctx comes from if it comes from one. The others have somebody
// who releases them, whose ctx must not end before; it reports whether there are such.
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

// outlived reports whether a hold of the same tenure that is for Unlock is on the record.
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

// innermost is the hold that a call is nested in, nil if there is none.
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

// owed is the loss that an owner was not told of by as many releases as it has holds: it may
// believe to have the lock, and a nested call must not take it anew. It is nil for fixed leases that have
// run out, which need not be released.
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

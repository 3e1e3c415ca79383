package multilock

import "slices"

// maxLost bounds how many lost holds a MultiLock remembers so that their Unlock can
// answer [reentrant.ErrLost]. The oldest are forgotten first: callers that let fixed
// leases run out and never unlock must not cost memory for ever.
const maxLost = 1024

// remember puts a hold on its owner's record.
func (l *MultiLock) remember(h *Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds[h.owner] = append(l.holds[h.owner], h)
}

// rememberLost notes that a hold on the record is lost.
func (l *MultiLock) rememberLost(h *Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.holds[h.owner], h) || slices.Contains(l.lost, h) {
		return
	}
	l.lost = append(l.lost, h)
	if len(l.lost) > maxLost {
		l.drop(l.lost[0])
	}
}

// forget takes a hold off the record.
func (l *MultiLock) forget(h *Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(h)
}

// pop takes the hold off the record that the owner's Unlock releases, nil if there is
// none: the last that is for Unlock. The others have somebody who releases them, whose
// ctx must not end before. Only if there are no others is it the last of those.
func (l *MultiLock) pop(owner string) *Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	holds := l.holds[owner]
	if len(holds) == 0 {
		return nil
	}
	h := holds[len(holds)-1]
	for _, other := range slices.Backward(holds) {
		if other.use == forUnlock {
			h = other
			break
		}
	}
	l.drop(h)
	return h
}

// drop takes a hold off both lists. The caller has mu.
func (l *MultiLock) drop(h *Hold) {
	same := func(other *Hold) bool { return other == h }
	l.lost = slices.DeleteFunc(l.lost, same)
	rest := slices.DeleteFunc(l.holds[h.owner], same)
	if len(rest) == 0 {
		delete(l.holds, h.owner)
		return
	}
	l.holds[h.owner] = rest
}

// innermost is the hold that a call of the owner is nested in, nil if there is none.
func (l *MultiLock) innermost(owner string) *Hold {
	l.mu.Lock()
	holds := slices.Clone(l.holds[owner])
	l.mu.Unlock()
	for _, h := range slices.Backward(holds) {
		if h.loss() == nil {
			return h
		}
	}
	return nil
}

package multilock

// otherHolder is another owner that holds the lock by this MultiLock, empty if there is none. It is for the error of
// one that does not.
func (l *MultiLock) otherHolder(than string) string {
	if l.holdRecord == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for owner, holds := range l.holds {
		if owner == than {
			continue
		}
		for _, h := range holds {
			select {
			case <-h.lost:
			default:
				return owner
			}
		}
	}
	return ""
}

package multilock

// otherHolder is another owner that holds the lock through this MultiLock, empty if there is none. It
// is for the error of an owner that does not hold the lock.
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

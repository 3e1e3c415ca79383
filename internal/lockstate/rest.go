package lockstate

// Rest makes the state of a lock that nobody uses as a new one, for its next user. It reports false, and changes nothing,
// if the state knows what a new one would not.
//
// What it forgets are words of Redis that a later user would not rely on: who waits elsewhere, and how often the lock was
// handed over.
func (s *State) Rest() bool {
	idle := len(s.owners) == 0 && s.shared == nil && s.waiting.first == nil
	knows := len(s.losses) > 0 || s.arrival != 0 || len(s.grantees) > 0 || len(s.departed) > 0 || !s.outage.since.IsZero()
	if !idle || knows || s.closing {
		return false
	}
	s.Init(s.cfg, s.engine, false) // its maps may have been large
	return true
}

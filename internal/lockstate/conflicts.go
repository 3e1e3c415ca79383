package lockstate

// Mode says with which other owners an owner can hold the lock.
type Mode int8

const (
	Exclusive Mode = iota // alone
	Shared                // together with owners that are Shared
)

// Conflicts reports whether an owner that wants the lock in one mode has to wait for an owner that holds
// it in another. It is the one place that decides this. An owner never waits for itself: it enters again.
func Conflicts(held, wanted Mode) bool { return held == Exclusive || wanted == Exclusive }

// transferable reports whether one command may move the field of an owner to the next owner: the lock
// has to be that one owner's, before and after.
func transferable(held, wanted Mode) bool { return held == Exclusive && wanted == Exclusive }

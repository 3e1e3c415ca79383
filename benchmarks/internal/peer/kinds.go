//go:build unix

package peer

// kind is what a variant of Redlatch makes of a name.
type kind int

const (
	plain kind = iota
	fair
	reading
	writing
	twoSided // some read and some write
)

// single is a lock of the variant's kind.
func (c *redlatchClient) single(name string) Lock {
	switch c.kind {
	case fair:
		return redlatchLock{c.locks.NewFairLock(name)}
	case reading:
		return readLock{redlatchLock{c.locks.NewReadWriteLock(name).Read()}}
	case writing, twoSided:
		return redlatchLock{c.locks.NewReadWriteLock(name).Write()}
	}
	return redlatchLock{c.locks.NewLock(name)}
}

type readLock struct{ redlatchLock }

func (readLock) Reading() bool { return true }

// Side is the lock of one who always reads, or always writes. Other kinds have one side.
func (c *redlatchClient) Side(name string, write bool) Lock {
	switch {
	case c.kind != twoSided:
		return c.Lock(name)
	case write:
		return redlatchLock{c.locks.NewReadWriteLock(name).Write()}
	default:
		return readLock{redlatchLock{c.locks.NewReadWriteLock(name).Read()}}
	}
}

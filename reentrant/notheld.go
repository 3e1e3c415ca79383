package reentrant

import (
	"fmt"
	"strings"
)

// NotHeldError is [ErrNotHeld] with the lock and the owner that was refused.
type NotHeldError struct {
	Name  string
	Owner string

	// Holder is the owner of this Client, or of this MultiLock, that does hold the lock: as a rule
	// another goroutine, which locked it. It is empty if there is none.
	Holder string

	// ByHold: the owner does hold the lock, by [Lock.Acquire] or [Lock.Do] only. Such a hold is
	// released by [Hold.Release], or by Do, and by no Unlock.
	ByHold bool
}

func (e *NotHeldError) Error() string {
	owner := e.Owner
	if !strings.Contains(owner, ":") { // an owner of a MultiLock has no Client: "17" alone says nothing
		owner = ownerWords(owner)
	}
	if e.ByHold {
		return fmt.Sprintf("redlatch: lock %q is held by %s with Acquire or Do, which release it: there is no Lock to unlock", e.Name, owner)
	}
	s := fmt.Sprintf("redlatch: lock %q is not held by %s", e.Name, owner)
	if e.Holder == "" {
		return s
	}
	return s + fmt.Sprintf(", but by %s of this program: unlock on the goroutine that locked, "+
		"or give both calls a ctx with one owner (WithNewOwner), or release a Hold (Acquire)", ownerWords(e.Holder))
}

// Is makes it [ErrNotHeld].
func (e *NotHeldError) Is(target error) bool { return target == ErrNotHeld }

// notHeld is the error of an owner that does not hold the lock. The caller has lockState.mu.
func (s *lockState) notHeld(owner string) error {
	e := &NotHeldError{Name: s.name, Owner: owner}
	if o := s.liveHolder(); o != nil && o.Owner() != owner {
		e.Holder = o.Owner()
	}
	return e
}

// uuidLen is the length of a Client's ID.
const uuidLen = 36

// ownerWords names the owner of a field in words, without its Client: "goroutine 17".
func ownerWords(field string) string {
	if len(field) > uuidLen && field[uuidLen] == ':' {
		field = field[uuidLen+1:]
	}
	if field == "=readers" {
		return "its readers"
	}
	if owner, reads := strings.CutPrefix(field, "=reader:"); reads {
		return ownerWords(owner)
	}
	if strings.Trim(strings.TrimSuffix(field, ":write"), "0123456789") == "" { // of a read-write lock too
		return "goroutine " + strings.TrimSuffix(field, ":write")
	}
	return fmt.Sprintf("owner %q", strings.TrimPrefix(field, "="))
}

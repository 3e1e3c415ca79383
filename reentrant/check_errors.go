package reentrant

import (
	"errors"
	"fmt"

	"github.com/redlatch/redlatch/internal/preflight"
)

var (
	// ErrPermission: the Redis user may not do something that locks need.
	// [PermissionError]
	ErrPermission = errors.New("redlatch: permission missing")

	// ErrEviction: Redis may remove locks when its memory is full. [EvictionError]
	ErrEviction = errors.New("redlatch: locks can be evicted")
)

// PermissionError is [ErrPermission] with the permission, and also whatever Err is.
type PermissionError struct {
	Server   string // address of the server that refused, as the redis client has it
	Rule     string // what ACL SETUSER has to be given: "+pexpire", "~lock:*", "&redlatch_listeners:{lock:*"
	Without  string // what happens without it
	Required bool   // locks do not work without it; otherwise they do, but for what Without says
	Err      error  // Redis' refusal
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("redlatch: the Redis user has no %s at %s; without it, %s: %v", e.Rule, e.Server, e.Without, e.Err)
}

// Is makes it [ErrPermission].
func (e *PermissionError) Is(target error) bool { return target == ErrPermission }

// Unwrap gives Redis' refusal.
func (e *PermissionError) Unwrap() error { return e.Err }

// EvictionError is [ErrEviction] with the settings. An evicted lock is free for others. Its holder learns
// of it at the next renewal, at most a third of the lease later.
type EvictionError struct {
	Server    string
	Policy    string // maxmemory-policy
	MaxMemory int64  // maxmemory, bytes
}

func (e *EvictionError) Error() string {
	return fmt.Sprintf("redlatch: %s has maxmemory-policy %s and maxmemory %d, and may evict locks: set noeviction",
		e.Server, e.Policy, e.MaxMemory)
}

// Is makes it [ErrEviction].
func (e *EvictionError) Is(target error) bool { return target == ErrEviction }

// unreachable is the error of a server to which no command could be sent. The cause may be a permission
// too: go-redis sends commands of its own before any other.
func unreachable(server string, err error) error {
	if what, command := preflight.DenialOf(err); what == preflight.Command {
		return &PermissionError{Server: server, Rule: "+" + command, Without: "no connection is made", Required: true, Err: err}
	}
	return unchecked(fmt.Errorf("%s: %w", server, err))
}

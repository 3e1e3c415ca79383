package reentrant

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ForeignKeyError is [ErrForeignKey] with what the key holds, and also whatever Err is.
type ForeignKeyError struct {
	Name string

	// Type is the type of the key as Redis has it: "string" for the lock of most other libraries. It is
	// empty if Redis did not say, as to a user without the command TYPE. It is "hash" or "none" if the
	// key is a lock's again, or if another of the lock's keys is not Redlatch's.
	Type string

	Err error // Redis' refusal
}

func (e *ForeignKeyError) Error() string {
	switch e.Type {
	case "":
		return fmt.Sprintf("redlatch: lock %q: its key holds something that is not a lock", e.Name)
	case "string":
		return fmt.Sprintf("redlatch: lock %q: its key holds a string: another lock library's?", e.Name)
	case "hash", "none":
		return fmt.Sprintf("redlatch: lock %q: one of its keys is not a lock's: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("redlatch: lock %q: its key holds a %s, and not a lock", e.Name, e.Type)
}

// Is makes it [ErrForeignKey].
func (e *ForeignKeyError) Is(target error) bool { return target == ErrForeignKey }

// Unwrap gives Redis' refusal.
func (e *ForeignKeyError) Unwrap() error { return e.Err }

// foreign is the error of a command that Redis refused since a key is not a lock. It asks once what the
// key holds: a script is refused wherever it first meets the key, and its error does not say. The caller
// waits for the answer no longer than for the command that was refused.
func (c *Client) foreign(ctx context.Context, name, key string, err error) error {
	e := &ForeignKeyError{Name: name, Err: err}
	command := typeQuestion{redis.NewStatusCmd(ctx, "type", key)}
	if c.single.Process(ctx, command) == nil {
		e.Type = command.Val()
	}
	return e
}

// typeQuestion is a TYPE that go-redis does not repeat.
type typeQuestion struct{ *redis.StatusCmd }

// NoRetry implements [redis.Cmder].
func (typeQuestion) NoRetry() bool { return true }

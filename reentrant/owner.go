package reentrant

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/internal/scope"
)

const maxOwner = 256 // bytes

// newID makes a Client's ID: a random UUID of version 8, the version for applications (RFC 9562). It
// tells the owners of Redlatch from the owners of Redisson, whose version is 4.
func newID() (string, error) {
	id, err := uuid.NewRandom()
	id[6] = id[6]&0x0f | 0x80
	return id.String(), err
}

// ofRedlatch reports whether a field belongs to an owner of a Client of this library.
func ofRedlatch(field string) bool {
	return len(field) > 36 && field[14] == '8' && field[36] == ':'
}

// WithOwner returns a ctx whose owner is the given one, instead of the calling goroutine. It is for work
// that changes goroutine (an order, a request, a job). All calls with the ctx act as that owner for every
// lock, and re-enter and release its holds.
//
// WithOwner hides the holds that ctx comes from. With the new ctx another owner has their locks, and a
// call that takes one of them waits for its own caller (the error says so). A hold that is taken with the
// new ctx is entered again with its own ctx ([Hold.Context]), as ever.
//
// Owners of different Clients are different even if they have the same name. A named owner is never equal
// to a goroutine, or to an owner of [WithNewOwner].
//
// An owner has 1 to 256 bytes of valid UTF-8 without control characters; with any other the methods of
// [Lock] return [ErrInvalidOwner]. To act as a hold, pass the hold's own ctx rather than its
// [Hold.Owner].
func WithOwner(ctx context.Context, owner string) context.Context {
	if owner == "" || len(owner) > maxOwner || !utf8.ValidString(owner) || strings.ContainsFunc(owner, unicode.IsControl) {
		return scope.WithNamed(ctx, "", fmt.Errorf("%w: %q", ErrInvalidOwner, owner))
	}
	return scope.WithNamed(ctx, explicitOwner(owner), nil)
}

// WithNewOwner is [WithOwner] with an owner that is different from every other. It is for a piece of work
// that changes goroutine and has no name of its own.
func WithNewOwner(ctx context.Context) context.Context {
	owner := newOwnerPrefix + strconv.FormatUint(newOwners.Add(1), 10)
	return scope.WithNamed(ctx, owner, nil)
}

// newOwnerPrefix is a prefix that explicitOwner cannot make: after its escape there is a number, or a
// second escape.
const newOwnerPrefix = "=new-"

var newOwners atomic.Uint64

// explicitOwner keeps named owners apart from goroutines, whose ids are decimal numbers: order "42" is
// not goroutine 42. Two names never give one result, since it also escapes a name that begins with the
// escape.
func explicitOwner(owner string) string {
	if strings.HasPrefix(owner, "=") || strings.Trim(owner, "0123456789") == "" {
		return "=" + owner
	}
	return owner
}

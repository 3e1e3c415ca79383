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

// newID makes a Client's ID: a random UUID of version 8, the one left to applications (RFC
// 9562), by which the owners of Redlatch are told from those of Redisson, whose version
// is 4.
func newID() (string, error) {
	id, err := uuid.NewRandom()
	id[6] = id[6]&0x0f | 0x80
	return id.String(), err
}

// ofRedlatch reports whether a field is that of an owner of a Client of this library.
func ofRedlatch(field string) bool {
	return len(field) > 36 && field[14] == '8' && field[36] == ':'
}

// WithOwner returns a ctx whose owner is the given one, instead of the calling goroutine: for
// work that changes goroutine (an order, a request, a job). All calls with the ctx act as that
// owner for every lock, and re-enter and release its holds.
//
// It hides the holds that ctx comes from: with the new ctx their locks are another owner's, and
// a call that takes one of them waits for its own caller (the error says so). A hold that is
// taken with the new ctx is entered again with its own ctx ([Hold.Context]), as ever.
//
// Owners of different Clients are different even if they have the same name, and an owner
// named here is never equal to a goroutine, or to one of [WithNewOwner].
//
// An owner has 1 to 256 bytes of valid UTF-8 without control characters; with any
// other the methods of [Lock] return [ErrInvalidOwner]. To act as a hold, pass the
// hold's own ctx rather than its [Hold.Owner].
func WithOwner(ctx context.Context, owner string) context.Context {
	if owner == "" || len(owner) > maxOwner || !utf8.ValidString(owner) || strings.ContainsFunc(owner, unicode.IsControl) {
		return scope.WithNamed(ctx, "", fmt.Errorf("%w: %q", ErrInvalidOwner, owner))
	}
	return scope.WithNamed(ctx, explicitOwner(owner), nil)
}

// WithNewOwner is [WithOwner] with an owner that nobody else has: for a piece of work that
// changes goroutine and has no name of its own.
func WithNewOwner(ctx context.Context) context.Context {
	owner := newOwnerPrefix + strconv.FormatUint(newOwners.Add(1), 10)
	return scope.WithNamed(ctx, owner, nil)
}

// newOwnerPrefix is what explicitOwner cannot produce: after the escape there is a number, or
// a second one.
const newOwnerPrefix = "=new-"

var newOwners atomic.Uint64

// explicitOwner keeps named owners apart from goroutines, whose ids are decimal
// numbers: order "42" is not goroutine 42. Injective, since what begins with the
// escape is escaped as well.
func explicitOwner(owner string) string {
	if strings.HasPrefix(owner, "=") || strings.Trim(owner, "0123456789") == "" {
		return "=" + owner
	}
	return owner
}

package reentrant

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/petermattis/goid"
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

type ownerKey struct{}

// WithOwner returns a ctx whose owner is the given one, instead of that in ctx or the calling
// goroutine: for work that changes goroutine (an order, a request, a job), and to keep
// goroutines apart that share the ctx of a [Hold]. Whoever has the ctx acts as the owner, for
// every lock: re-enters its locks and releases them. Owners of
// different Clients are different even if they have the same name, and an owner
// named here is never equal to a goroutine.
//
// An owner has 1 to 256 bytes of valid UTF-8 without control characters; with any
// other the methods of [Lock] return [ErrInvalidOwner]. To act as a hold, pass the
// hold's own ctx ([Hold.Context]) rather than its [Hold.Owner].
func WithOwner(ctx context.Context, owner string) context.Context {
	if owner == "" || len(owner) > maxOwner || !utf8.ValidString(owner) || strings.ContainsFunc(owner, unicode.IsControl) {
		return context.WithValue(ctx, ownerKey{}, fmt.Errorf("%w: %q", ErrInvalidOwner, owner))
	}
	return context.WithValue(ctx, ownerKey{}, explicitOwner(owner))
}

// BindOwner is for package multilock; programs do not need it. It returns a ctx that carries
// its owner, and the owner: the one that ctx has already, or else the calling goroutine,
// which with this ctx acts through other goroutines. It is for code that does one owner's
// work on several goroutines and waits for them. The error is [ErrInvalidOwner].
func BindOwner(ctx context.Context) (bound context.Context, owner string, err error) {
	owner, err = ownerOf(ctx)
	if err != nil {
		return nil, "", err
	}
	return context.WithValue(ctx, ownerKey{}, owner), owner, nil
}

// explicitOwner keeps named owners apart from goroutines, whose ids are decimal
// numbers: order "42" is not goroutine 42. Injective, since what begins with the
// escape is escaped as well.
func explicitOwner(owner string) string {
	if strings.HasPrefix(owner, "=") || strings.Trim(owner, "0123456789") == "" {
		return "=" + owner
	}
	return owner
}

// ownerOf returns the second half of the owner's field: from ctx, or else the
// calling goroutine.
func ownerOf(ctx context.Context) (string, error) {
	if !hasOwner(ctx) {
		return strconv.FormatInt(goroutineID(), 10), nil
	}
	if err, invalid := ctx.Value(ownerKey{}).(error); invalid {
		return "", err
	}
	return ctx.Value(ownerKey{}).(string), nil
}

// ownerField returns the field of the owner in the hashes of a client.
func ownerField(ctx context.Context, client string) (string, error) {
	if !hasOwner(ctx) {
		var buf [64]byte // one allocation, for the string
		return string(strconv.AppendInt(append(append(buf[:0], client...), ':'), goroutineID(), 10)), nil
	}
	owner, err := ownerOf(ctx)
	return client + ":" + owner, err
}

// hasOwner reports whether the owner is ctx's, and so may be that of other calls too.
func hasOwner(ctx context.Context) bool { return ctx.Value(ownerKey{}) != nil }

// goroutineID is goid's fast answer if that agrees with the runtime's own. goid
// reads a private structure of the runtime, which a new Go release may change; a
// wrong id would let two goroutines into one lock.
var goroutineID = func() func() int64 {
	agreed := make(chan bool)
	go func() { agreed <- goid.Get() == slowGoroutineID() }()
	if <-agreed && goid.Get() == slowGoroutineID() {
		return goid.Get
	}
	return slowGoroutineID
}()

// slowGoroutineID reads the id from the head of a stack trace: "goroutine 17 [".
func slowGoroutineID() int64 {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)]
	_, head, _ = bytes.Cut(head, []byte(" "))
	digits, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		panic("redlatch: cannot read the goroutine id from " + strconv.Quote(string(buf[:])))
	}
	return id
}

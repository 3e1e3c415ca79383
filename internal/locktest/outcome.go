package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Wants fails the test unless err is each of the sentinels.
func Wants(t testing.TB, err error, sentinels ...error) {
	t.Helper()
	for _, s := range sentinels {
		if !errors.Is(err, s) {
			t.Errorf("error is %v, want %v", err, s)
		}
	}
}

// InTime waits for a channel to be closed or written to.
func InTime[T any](t testing.TB, within time.Duration, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(within):
		t.Fatalf("not within %v: %s", within, what)
	}
	return v
}

// Must stops the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Ended reports whether a channel is closed.
func Ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Tried makes one error of TryLock's two results.
func Tried(ok bool, err error) error {
	if err == nil && !ok {
		return reentrant.ErrNotAcquired
	}
	return err
}

// ContextCause is why the hold's ctx has ended.
func ContextCause(h *reentrant.Hold) error { return context.Cause(h.Context()) }

// ErrGivenUp is the cause with which a test cancels a call.
var ErrGivenUp = errors.New("the caller has given up")

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// The exit codes, where a child has none. Those below 79 are of sysexits.h; 128 and more say that a signal ended it.
const (
	exitOK         = 0
	exitFailed     = 1   // "no": what was asked is not so
	exitUsage      = 64  // flags or names are wrong
	exitNoRedis    = 69  // Redis is not reachable, or does not answer
	exitSoftware   = 70  // any other failure
	exitBusy       = 75  // another owner has the lock
	exitPermission = 77  // the Redis user may not
	exitLost       = 79  // the lock was lost
	exitNoExec     = 126 // the command cannot be executed
	exitNotFound   = 127 // there is no such command
	exitSignal     = 128 // and the signal's number
)

// exitError is an error with the exit code that it means.
type exitError struct {
	code  int
	err   error
	quiet bool // nothing is printed: the code says all
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// result is a code without a message.
func result(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code, err: fmt.Errorf("exit code %d", code), quiet: true}
}

// codeOf is the exit code of an error.
func codeOf(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case isAny(err, reentrant.ErrInvalidName, reentrant.ErrInvalidLease, reentrant.ErrInvalidOwner, reentrant.ErrInvalidOption):
		return exitUsage
	case errors.Is(err, reentrant.ErrBusy):
		return exitBusy
	case errors.Is(err, reentrant.ErrLost):
		return exitLost
	case refused(err):
		return exitPermission
	case unreachable(err):
		return exitNoRedis
	}
	return exitSoftware
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// refused reports whether Redis refused for want of a permission or a password.
func refused(err error) bool {
	if errors.Is(err, reentrant.ErrPermission) {
		return true
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, word := range []string{"NOPERM", "NOAUTH", "WRONGPASS"} {
		if strings.HasPrefix(reply.Error(), word) {
			return true
		}
	}
	return false
}

func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || isAny(err, context.DeadlineExceeded, redis.ErrPoolTimeout, redis.ErrPoolExhausted)
}

// advice is a sentence that says what to do, or empty.
func advice(err error, address string) string {
	var denied *reentrant.PermissionError
	switch {
	case errors.As(err, &denied):
		return fmt.Sprintf("give the Redis user %s: ACL SETUSER <user> %s", denied.Rule, denied.Rule)
	case refused(err):
		return "check the user and the password: REDIS_PASSWORD, --password-file, or those of the URL"
	case codeOf(err) == exitNoRedis:
		return fmt.Sprintf("is Redis at %s? Give another address with --url or REDIS_URL", address)
	}
	return ""
}

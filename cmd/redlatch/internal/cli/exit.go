package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
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
	case isClusterNode(err):
		return exitUsage
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
	return replied(err, "NOPERM", "NOAUTH", "WRONGPASS")
}

// replied reports whether Redis answered with an error that begins with one of the words.
func replied(err error, words ...string) bool {
	var reply redis.Error
	return errors.As(err, &reply) && slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(reply.Error(), word) })
}

// isClusterNode reports whether a node of a Cluster was taken for a server of its own.
func isClusterNode(err error) bool { return replied(err, "MOVED", "CROSSSLOT") }

// unreachable reports whether there is no Redis that takes locks, or none that this machine may talk to.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || isAny(err, context.DeadlineExceeded, redis.ErrPoolTimeout, redis.ErrPoolExhausted) ||
		distrusted(err) || hungUp(err) || noMaster(err) || silent(err) || replied(err, "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN")
}

// silent reports whether a wait for a lock has ended without an answer of Redis.
func silent(err error) bool {
	var ended *reentrant.NotAcquiredError
	var reply redis.Error
	return errors.As(err, &ended) && !ended.Busy && !errors.As(err, &reply) && !isAny(err, context.Canceled, reentrant.ErrClosed, reentrant.ErrReplicas)
}

// distrusted reports whether one side did not accept the other's certificate, or what it speaks is no TLS.
func distrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &header) || err != nil && strings.Contains(err.Error(), "remote error: tls: ")
}

// hungUp reports whether the server ended the connection without an answer, as one does that wants TLS.
func hungUp(err error) bool { return isAny(err, io.EOF, io.ErrUnexpectedEOF) }

// noMaster reports whether no Sentinel knows the master. go-redis has no value for that error.
func noMaster(err error) bool {
	return err != nil && strings.Contains(err.Error(), "all sentinels specified in configuration are unreachable")
}

// advice is a sentence that says what to do, or empty.
func advice(err error, address string) string {
	var denied *reentrant.PermissionError
	switch {
	case errors.As(err, &denied):
		return fmt.Sprintf("give the Redis user %s: ACL SETUSER <user> %s", denied.Rule, denied.Rule)
	case refused(err):
		return "check the user and the password: REDIS_PASSWORD, --password-file, or those of the URL"
	case isClusterNode(err):
		return fmt.Sprintf("%s is a node of a Cluster: say --cluster", address)
	case distrusted(err):
		return "rediss:// and --tls-… have to suit the server: --tls-ca says what to trust, --tls-server-name the name in its certificate, --tls-cert and --tls-key are your own"
	case hungUp(err):
		return fmt.Sprintf("does the server at %s want TLS? Then the address begins with rediss://", address)
	case noMaster(err):
		return fmt.Sprintf("is there a Sentinel at %s, and does it know a master of that name?", address)
	case replied(err, "READONLY"):
		return fmt.Sprintf("%s is a replica: give the address of the master", address)
	case codeOf(err) == exitNoRedis:
		return fmt.Sprintf("is Redis at %s? Give another address with --url or REDIS_URL", address)
	}
	return ""
}

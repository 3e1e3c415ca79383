package lua

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redisio"
)

// ErrAborted is the outcome of a command whose goroutine was ended while the command was under way,
// by a panic or runtime.Goexit in a hook of go-redis. The command may have run.
var ErrAborted = redisio.ErrAborted

// Unknown reports whether after err the script may have run, or may still run: the command was, or
// may have been, written and no reply came. After any other error the script has changed nothing.
func Unknown(err error) bool {
	if err == nil {
		return false
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return false // Redis answered
	}
	return !unsent(err)
}

// Retryable reports whether the same command may succeed a little later: there
// was no reply, or Redis said that it cannot serve just now.
func Retryable(err error) bool {
	if err == nil || errors.Is(err, redis.ErrClosed) {
		return false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return true
	}
	for _, prefix := range []string{
		"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY",
		"NOREPLICAS", "MOVED", "ASK", "ERR max number of clients reached",
	} {
		if says(reply, prefix) {
			return true
		}
	}
	return false
}

// ForeignKey reports whether Redis refused because the key holds something that
// is not a lock.
func ForeignKey(err error) bool {
	if err == nil {
		return false
	}
	var reply redis.Error
	return errors.As(err, &reply) && says(reply, "WRONGTYPE")
}

// ReadWriteKey reports whether Redis refused because the key holds a read-write lock: a script of ours said so.
func ReadWriteKey(err error) bool {
	return ForeignKey(err) && strings.Contains(err.Error(), "the key holds a read-write lock")
}

// says reports whether an error reply has the code. Before Redis 7 an error inside a script arrives
// in another form: "ERR Error running script (...): @user_script:9: CODE text" if the command failed,
// and "... @user_script: 9: -CODE text" if Redis refused to run it.
func says(reply redis.Error, code string) bool {
	text := reply.Error()
	return strings.HasPrefix(text, code) || strings.Contains(text, ": "+code+" ") || strings.Contains(text, ": -"+code+" ")
}

// unsent reports that the command was never sent: there was no connection for it.
func unsent(err error) bool {
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed) {
		return true
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return true // the handshake comes before any command
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

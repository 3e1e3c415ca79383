package lua

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// asking are the scripts by which a call asks for a lock.
var asking = []*script{acquireScript, readAcquireScript, writeAcquireScript, fairAcquireScript}

// AsksForLock reports whether a command, given by its words, runs a script by which a call asks for a lock. It is
// for tests that delay what grants a lock. A release that grants the lock to the next waiter does not ask.
func AsksForLock(words []string) bool {
	if len(words) < 2 {
		return false
	}
	return slices.ContainsFunc(asking, func(s *script) bool {
		return strings.EqualFold(words[0], "evalsha") && words[1] == s.sha || strings.EqualFold(words[0], "eval") && words[1] == s.source
	})
}

// Load has Redis know every script, so that no command is answered by NOSCRIPT and sent again. It is for tests that
// count commands. The error is the one of the first command that failed.
func Load(ctx context.Context, p Processor) error {
	for _, s := range all {
		if err := p.Process(ctx, redis.NewCmd(ctx, "script", "load", s.source)); err != nil {
			return err
		}
	}
	return nil
}

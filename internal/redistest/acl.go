package redistest

import (
	"strings"
	"testing"
)

// SetUser gives a user rules of an ACL, beyond those that it has. A rule for a command of
// sharded pub/sub is left out on a server before Redis 7.0, which refuses both the rule and
// the command.
func (s *Server) SetUser(t testing.TB, user string, rules ...string) {
	t.Helper()
	Needs(t, "6.2", "ACL rules for channels")
	args := []any{"ACL", "SETUSER", user}
	for _, rule := range rules {
		if !ofShardedPubSub(rule) || AtLeast(t, "7.0") {
			args = append(args, rule)
		}
	}
	s.Do(t, args...)
}

// RefusedInScript is part of what Redis answers if a script runs a command that its user may
// not. There is no code for it.
func RefusedInScript(t testing.TB) string {
	t.Helper()
	if AtLeast(t, "7.2") {
		return "ERR ACL failure in script: User "
	}
	return "The user executing the script can't run this command"
}

func ofShardedPubSub(rule string) bool {
	switch strings.TrimLeft(rule, "+-") {
	case "ssubscribe", "sunsubscribe", "spublish", "pubsub|shardnumsub":
		return true
	}
	return false
}

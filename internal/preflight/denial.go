package preflight

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Denied is what a refusal for want of permission is about.
type Denied int

// What may be denied.
const (
	Nothing Denied = iota
	Command
	Key
	Channel
)

// DenialOf reads Redis' words. command is the name that it gives to what was refused,
// which is another than the one sent when go-redis sends one of its own first.
//
// Redis 6 and 7.0 say "this user has no permissions to run the 'get' command", with "or its
// subcommand" behind it in some, and "... to access one of the keys used as arguments"; 7.2 and later "User u has no
// permissions to run the 'get' command", and "No permissions to access a key" or "a channel".
func DenialOf(err error) (what Denied, command string) {
	var reply redis.Error
	if !errors.As(err, &reply) || !redis.HasErrorPrefix(err, "NOPERM") {
		return Nothing, ""
	}
	text := strings.ToLower(reply.Error())
	_, text, _ = strings.Cut(text, "permissions to ")
	if rest, ok := strings.CutPrefix(text, "run the '"); ok {
		command, _, _ = strings.Cut(rest, "'")
		return Command, command
	}
	if strings.Contains(text, "channels used") || strings.HasSuffix(text, " channel") {
		return Channel, ""
	}
	return Key, ""
}

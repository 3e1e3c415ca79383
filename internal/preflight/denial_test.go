package preflight_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redlatch/redlatch/internal/preflight"
)

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// Every server's words for a refusal are read.
func TestDenialOf(t *testing.T) {
	for err, want := range map[error]struct {
		what    preflight.Denied
		command string
	}{
		nil:                    {preflight.Nothing, ""},
		errors.New("NOPERM x"): {preflight.Nothing, ""}, // not Redis' word
		reply("NOPERM this user has no permissions to run the 'get' command"):                        {preflight.Command, "get"},
		reply("NOPERM this user has no permissions to run the 'get' command or its subcommand"):      {preflight.Command, "get"},
		reply("NOPERM User u has no permissions to run the 'PubSub|numsub' command"):                 {preflight.Command, "pubsub|numsub"},
		reply("NOPERM this user has no permissions to access one of the keys used as arguments"):     {preflight.Key, ""},
		reply("NOPERM this user has no permissions to access one of the channels used as arguments"): {preflight.Channel, ""},
		reply("NOPERM No permissions to access a key"):                                               {preflight.Key, ""},
		reply("NOPERM No permissions to access a channel"):                                           {preflight.Channel, ""},
		fmt.Errorf("node: %w", reply("NOPERM User u has no permissions to run the 'get' command")):   {preflight.Command, "get"},
		reply("WRONGTYPE Operation against a key holding the wrong kind of value"):                   {preflight.Nothing, ""},
	} {
		if what, command := preflight.DenialOf(err); what != want.what || command != want.command {
			t.Errorf("%v: %d %q, want %d %q", err, what, command, want.what, want.command)
		}
	}
}

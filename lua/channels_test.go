package lua_test

import (
	"path"
	"slices"
	"testing"

	"github.com/redlatch/redlatch/lua"
)

const someClient = "6f1c7e0c-5d1f-8d4e-9a55-0123456789ab"

// Each channel of a lock names the lock, and is found by the patterns of its prefix.
func TestLockOfChannel(t *testing.T) {
	for _, key := range []string{"order:42", "x", "a{b}c", "{a}:1", "t[1]*:job"} {
		for _, k := range []lua.Keys{lua.KeysOf(key, someClient), lua.RWKeysOf(key, someClient), lua.FairKeysOf(key, someClient)} {
			for _, channel := range []string{k.Channel(), k.Own(), k.Channel() + ":" + someClient + ":17"} {
				if got := lua.LockOfChannel(channel); got != key {
					t.Errorf("%s is of %q, want %q", channel, got, key)
				}
				matches := func(pattern string) bool {
					found, err := path.Match(pattern, channel)
					return found && err == nil
				}
				for _, prefix := range []string{"", key[:1], key} {
					if !slices.ContainsFunc(lua.ChannelPatterns(prefix), matches) {
						t.Errorf("%s is not found by %q", channel, lua.ChannelPatterns(prefix))
					}
				}
				if slices.ContainsFunc(lua.ChannelPatterns("other:"), matches) {
					t.Errorf("%s is found by another prefix", channel)
				}
			}
		}
	}
	for _, channel := range []string{"", "news", "redisson_lock__channel", lua.KeysOf("x", "").Listeners()} {
		if got := lua.LockOfChannel(channel); got != "" {
			t.Errorf("%s is of %q", channel, got)
		}
	}
}

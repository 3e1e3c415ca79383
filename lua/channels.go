package lua

import (
	"regexp"
	"strings"
)

// LockOfChannel is the key of the lock that a channel of Redlatch or of Redisson belongs to: the common channel, a client's
// own, or the one of a thread of Redisson that waits for a fair lock. It is empty for any other channel, and for a
// channel of whose lock the name cannot be told. "{a}" and "a" have the same channels, and it is "a" for these.
func LockOfChannel(channel string) (key string) {
	rest, found := strings.CutPrefix(channel, string(channels)+":")
	if !found {
		if rest, found = strings.CutPrefix(channel, string(rwChannels)+":"); !found {
			return ""
		}
	}
	rest = channelOfOne.ReplaceAllString(rest, "")
	if whole, tagged := strings.CutPrefix(rest, "{"); tagged && strings.HasSuffix(whole, "}") {
		return strings.TrimSuffix(whole, "}")
	}
	return rest
}

// channelOfOne is what follows in a channel of one client: its id, and in Redisson a thread's.
var channelOfOne = regexp.MustCompile(`:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[0-9]+)?$`)

// ChannelPatterns are the patterns, as PUBSUB CHANNELS takes them, of the channels of all locks whose keys begin with
// prefix.
func ChannelPatterns(prefix string) (patterns []string) {
	for _, kind := range []kind{channels, rwChannels} {
		if strings.Contains(prefix, "{") {
			patterns = append(patterns, string(kind)+":"+Literal(prefix)+"*")
			continue
		}
		// Only names with a hash tag of their own are not put into braces.
		patterns = append(patterns, string(kind)+":{"+Literal(prefix)+"*", string(kind)+":"+Literal(prefix)+"*{*")
	}
	return patterns
}

// Literal is the pattern, as SCAN and ACL rules take it, that matches the text and nothing else.
func Literal(text string) string { return globs.Replace(text) }

var globs = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

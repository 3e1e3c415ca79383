package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The users of SECURITY.md are made of its blocks "acl ...", of which each line is a
// command, as it stands there.

const (
	userOfRules     = "locks"
	passwordOfRules = ">password"
)

// aclRules are the commands of some blocks.
type aclRules [][]string

func readRules(t *testing.T, blocks ...string) (rules aclRules) {
	t.Helper()
	text := read(t, "SECURITY.md")
	for _, block := range blocks {
		found := regexp.MustCompile("(?ms)^```acl "+block+"\n(.*?)^```$").FindAllStringSubmatch(text, -1)
		if len(found) != 1 {
			t.Fatalf("SECURITY.md has %d blocks acl %s", len(found), block)
		}
		for line := range strings.Lines(found[0][1]) {
			rule := strings.Fields(line)
			if len(rule) < 4 || rule[0] != "ACL" || rule[1] != "SETUSER" || rule[2] != userOfRules {
				t.Fatalf("not a rule for %s: %s", userOfRules, line)
			}
			rules = append(rules, rule)
		}
	}
	return rules
}

// permissions are what the rules allow, each of which can be left out.
func (rules aclRules) permissions() (words []string) {
	for _, rule := range rules {
		for _, word := range rule[3:] {
			if strings.ContainsAny(word[:1], "+~&") {
				words = append(words, word)
			}
		}
	}
	return words
}

// make makes the user under another name and without one of the permissions.
func (rules aclRules) make(t *testing.T, user, without string, servers ...*redistest.Server) {
	t.Helper()
	for _, rule := range rules {
		command := []any{"ACL", "SETUSER", user}
		for _, word := range rule[3:] {
			if word != without {
				command = append(command, word)
			}
		}
		for _, s := range servers {
			s.Do(t, command...)
		}
	}
}

// refusals are what the servers refused a user so far, as a rule has it, but for what
// go-redis lives without.
func refusals(t *testing.T, user string, servers ...*redistest.Server) (words []string) {
	t.Helper()
	for _, s := range servers {
		for _, entry := range s.Do(t, "ACL", "LOG", 10_000).([]any) {
			fields := make(map[string]string)
			list := entry.([]any)
			for i := 0; i+1 < len(list); i += 2 {
				fields[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
			}
			if fields["username"] == user {
				words = append(words, refusedWord(fields["reason"], fields["object"]))
			}
		}
	}
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(word string) bool {
		return slices.Contains(quiet, word)
	})
}

// quiet is what SECURITY.md calls needless: a refusal is logged, and nothing else comes
// of it.
var quiet = []string{"+client|setinfo", "+client|maint_notifications", "+ping", "+command"}

// refusedWord is the word of a rule that an entry of ACL LOG is about.
func refusedWord(reason, object string) string {
	sign := map[string]string{"command": "+", "key": "~", "channel": "&"}[reason]
	if i := strings.Index(object, "lock:"); sign != "+" && i >= 0 {
		object = object[:i] + "lock:*"
	}
	return sign + object
}

// calledOn reports whether a server has run the command.
func calledOn(t *testing.T, name string, servers ...*redistest.Server) bool {
	t.Helper()
	for _, s := range servers {
		// A refused call is in the statistics too, with calls=0.
		if regexp.MustCompile("cmdstat_" + regexp.QuoteMeta(name) + ":calls=[1-9]").MatchString(s.Do(t, "INFO", "commandstats").(string)) {
			return true
		}
	}
	return false
}

// logAll keeps ACL LOG from dropping entries, and clears the statistics.
func logAll(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		s.Do(t, "CONFIG", "SET", "acllog-max-len", 10_000)
		s.Do(t, "CONFIG", "RESETSTAT")
	}
}

func login(user string) func(*redis.Options) {
	return func(o *redis.Options) { o.Username, o.Password = user, passwordOfRules[1:] }
}

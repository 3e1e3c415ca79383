package lua_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	call       = regexp.MustCompile(`redis\.p?call\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	assignment = regexp.MustCompile(`(?m)^(?:  )?local ([\w, ]+) = (.+)$`)
	parameters = regexp.MustCompile(`local function \w+\(([\w, ]+)\)`)
	helper     = regexp.MustCompile(`\b(wake|keep|grant|raise|layout|others|alive|register|tell_readers|tell_writer|score_of|join|rejoin|went|take|heads)\(([^)]*)\)`)
	element    = regexp.MustCompile(`^KEYS\[(\d|2\*i(-1)?)\]$`)
)

// handed is how many keys a function takes, before its other parameters.
var handed = map[string]int{
	"wake": 5, "grant": 3, "keep": 1, "raise": 1,
	"layout": 1, "others": 1, "alive": 1, "register": 2, "tell_readers": 4, "tell_writer": 2,
	"score_of": 1, "join": 2, "rejoin": 2, "went": 3, "take": 3, "heads": 3,
}

// keyNames are the variables of a script that stand for an element of KEYS.
func (s source) keyNames() []string {
	var names []string
	for _, m := range assignment.FindAllStringSubmatch(s.body, -1) {
		left, right := strings.Split(m[1], ", "), strings.Split(m[2], ", ")
		for i, expr := range right {
			if element.MatchString(expr) && i < len(left) {
				names = append(names, left[i])
			}
		}
	}
	if strings.Contains(s.body, "for i, lock in ipairs(KEYS) do") {
		names = append(names, "lock")
	}
	// The helpers are handed their keys by the scripts, see below.
	for _, p := range parameters.FindAllStringSubmatch(s.body, -1) {
		for _, name := range strings.Split(p[1], ", ") {
			if slices.Contains([]string{"lock", "turn", "waiters", "grants", "token", "readers", "barrier", "registry", "other", "queue", "timeouts", "line"}, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// A key that is not in KEYS would be out of a cluster client's and of an ACL's
// sight. Each call names a command literally, and its key by KEYS or by a variable
// that is one of KEYS and is never anything else.
func TestFilesUseDeclaredKeysOnly(t *testing.T) {
	var begun []string
	for _, s := range sources(t) {
		names := s.keyNames()
		if s.file == "released.lua" { // goes on where release ends
			names = begun
		}
		if s.file == "release.lua" {
			begun = names
		}
		isKey := func(expr string) bool { return element.MatchString(expr) || slices.Contains(names, expr) }
		for _, name := range names {
			if regexp.MustCompile(`(?m)^\s*` + name + `\s*=`).MatchString(s.body) {
				t.Errorf("%s assigns to %s", s.file, name)
			}
		}
		calls := call.FindAllStringSubmatch(s.body, -1)
		if n := strings.Count(s.body, "redis.call(") + strings.Count(s.body, "redis.pcall("); n != len(calls) {
			t.Errorf("%s: %d calls, %d understood", s.file, n, len(calls))
		}
		for _, m := range calls {
			args := strings.Split(m[1], ", ")
			switch {
			case slices.Contains([]string{"grant.lua", "wake.lua", "linger.lua", "rw.lua", "rw_linger.lua", "fair.lua", "fair_linger.lua"}, s.file) && args[0] == "publish" && strings.HasPrefix(args[1], "channel"):
			case args[0] == "'TIME'", args[0] == "'PUBSUB'", args[0] == "'PUBLISH'": // no key, but channels
			// The exceptions: only the hash has the names of the other readers, and how many markers a holder has.
			case s.file == "rw.lua" && m[1] == "'PTTL', markers .. field .. ':rwlock_timeout:' .. i":
			case s.file == "rw_force.lua" && m[1] == "'DEL', ARGV[2] .. holder .. ':rwlock_timeout:' .. i":
			case !strings.HasPrefix(args[0], "'"):
				t.Errorf("%s calls %s", s.file, args[0])
			case len(args) < 2 || !isKey(args[1]):
				t.Errorf("%s: %s is not in KEYS", s.file, m[0])
			// Commands with more than one key may have others behind the first.
			case slices.Contains([]string{"'MGET'", "'DEL'", "'EXISTS'"}, args[0]):
				if slices.ContainsFunc(args[1:], func(a string) bool { return !isKey(a) }) {
					t.Errorf("%s: not all of KEYS: %s", s.file, m[0])
				}
			}
		}
		for _, m := range helper.FindAllStringSubmatch(s.body, -1) {
			args, keys := strings.Split(m[2], ", "), handed[m[1]]
			if slices.ContainsFunc(args[:keys], func(a string) bool { return !isKey(a) && a != "nil" }) {
				t.Errorf("%s hands on what is not in KEYS: %s", s.file, m[0])
			}
		}
	}
}

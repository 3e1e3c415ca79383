package reentrant

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/redlatch/redlatch/internal/preflight"
)

// nameSeeds are what has gone wrong elsewhere, or nearly here.
var nameSeeds = []string{
	"orders:42", "order:{42}", "{42}", "{42}:x", "42", "a", "aa", "", ":", "{", "}", "{}", "}{", "{{a}}", "{a}{b}", "a{}b", "{a}}",
	"redlatch_turn:{a}", "redlatch_turn{a}", "redlatch_epoch:{a}:id", "redlatch_turnstile", "redisson_lock_token:{a}",
	"redisson_lock__channel:{a}", "redlatch_listeners:a", "lock:", "lock:*", `a*b?[c]\d`, "ü", "🔒", "\xff", "a\nb", "a\x00", "\u202e",
	"{a}:0f8fad5b-d9cb-869f-a165-70867728950e", strings.Repeat("x", 512),
}

// made are the names in Redis of one lock.
type made struct {
	lock                    string
	epoch, turn, waiters    string // of Redlatch alone
	token                   string // Redisson's
	channel, listeners, own string
}

// lockOf makes the lock of a name under a prefix, if both are accepted. Its Client does
// nothing else: New would take most of the time.
func lockOf(t *testing.T, prefix, name string) (names made, accepted bool) {
	t.Helper()
	cfg, err := newConfig([]Option{WithPrefix(prefix)})
	if err != nil {
		if !errors.Is(err, ErrInvalidOption) {
			t.Fatal(err)
		}
		return made{}, false
	}
	c := &Client{cfg: cfg, id: "0f8fad5b-d9cb-869f-a165-70867728950e"}
	l := c.NewLock(name)
	if l.err != nil {
		if !errors.Is(l.err, ErrInvalidName) {
			t.Fatal(l.err)
		}
		return made{}, false
	}
	k := l.keys
	return made{k.Lock, k.Epoch(), k.Turn(), k.Waiters(), k.Token(), k.Channel(), k.Listeners(), k.Own()}, true
}

func (m made) keys() []string { return []string{m.lock, m.epoch, m.turn, m.waiters, m.token} }
func (m made) all() []string  { return append(m.keys(), m.channel, m.listeners, m.own) }

// hashTag is the part of a key that decides on its slot, as the cluster specification says.
func hashTag(key string) string {
	if _, tail, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(tail, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}

// FuzzName takes any name under any prefix. What is accepted is printable, stays in its
// slot with everything that belongs to the lock, and under what an ACL rule for the prefix allows.
func FuzzName(f *testing.F) {
	for i, name := range nameSeeds {
		f.Add(nameSeeds[(7*i+3)%len(nameSeeds)], name)
		f.Add("", name)
		f.Add("lock:", name)
	}
	f.Fuzz(func(t *testing.T, prefix, name string) {
		m, accepted := lockOf(t, prefix, name)
		if !accepted {
			return
		}
		if m.lock != prefix+name || len(m.lock) > maxName || !utf8.ValidString(m.lock) || strings.ContainsFunc(m.lock, unicode.IsControl) {
			t.Fatalf("accepted: %q", m.lock)
		}
		all := m.all()
		for _, other := range all {
			if hashTag(other) != hashTag(m.lock) {
				t.Fatalf("%q is in the slot of %q, and %q in that of %q", m.lock, hashTag(m.lock), other, hashTag(other))
			}
		}
		distinct := make(map[string]bool)
		for _, other := range all {
			distinct[other] = true
		}
		if len(distinct) != len(all) {
			t.Fatalf("two of one name: %q", all)
		}
		if name[0] == '{' && prefix == "" {
			return // has no prefix that a rule could be about
		}
		for kind, other := range map[string]string{
			"": m.lock, "redlatch_epoch:": m.epoch, "redlatch_turn:": m.turn, "redlatch_waiters:": m.waiters,
			"redisson_lock_token:": m.token, "redisson_lock__channel:": m.own, "redlatch_listeners:": m.listeners,
		} {
			if rule := preflight.Rule(prefix, m.lock, "", kind); !allows(rule, other) {
				t.Fatalf("%q does not allow %q", rule, other)
			}
		}
	})
}

// allows reports whether a pattern of ours, which ends with the only star that is not escaped,
// matches a key as Redis would.
func allows(pattern, key string) bool {
	var literal strings.Builder
	body := strings.TrimSuffix(pattern, "*")
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' {
			i++
		}
		literal.WriteByte(body[i])
	}
	return strings.HasPrefix(key, literal.String())
}

// FuzzTwoNames takes two locks. If their keys differ, no key that the one writes is one of the
// other's, but for the counter that "a" and "{a}" have in common in Redisson, too. What is the
// channel of one is no key of the other. And a user with the rights of one prefix, as Check
// words them, has none to what belongs to a lock under another.
func FuzzTwoNames(f *testing.F) {
	for i, name := range nameSeeds {
		other := nameSeeds[(5*i+1)%len(nameSeeds)]
		f.Add("", name, "", other)
		f.Add("", name, "", "{"+name+"}")
		f.Add("t1:", name, "t10:", other)
		f.Add("", name, "redlatch_turn:", "{"+name+"}")
	}
	f.Fuzz(func(t *testing.T, prefix1, name1, prefix2, name2 string) {
		m1, accepted1 := lockOf(t, prefix1, name1)
		m2, accepted2 := lockOf(t, prefix2, name2)
		if !accepted1 || !accepted2 || m1.lock == m2.lock {
			return
		}
		mine := make(map[string]bool)
		for _, key := range m1.keys() {
			mine[key] = true
		}
		shared := slices.DeleteFunc(slices.Clone(m2.keys()), func(key string) bool { return !mine[key] })
		twins := m1.lock == "{"+m2.lock+"}" || m2.lock == "{"+m1.lock+"}"
		if len(shared) > 0 && !(twins && len(shared) == 1 && shared[0] == m1.token) {
			t.Fatalf("%q and %q share %q", m1.lock, m2.lock, shared)
		}
		for _, channel := range []string{m2.channel, m2.listeners, m2.own} {
			if mine[channel] {
				t.Fatalf("%q is a channel of %q and a key of %q", channel, m2.lock, m1.lock)
			}
		}
		// Prefixes as SECURITY.md wants them: neither begins the other, nor with a brace.
		for _, p := range []string{prefix1, prefix2} {
			if p == "" || p[0] == '{' {
				return
			}
		}
		if strings.HasPrefix(prefix1, prefix2) || strings.HasPrefix(prefix2, prefix1) {
			return
		}
		kinds := map[string][]string{
			"": m2.keys(), "redlatch_epoch:": m2.keys(), "redlatch_turn:": m2.keys(), "redlatch_waiters:": m2.keys(),
			"redisson_lock_token:": m2.keys(), "redisson_lock__channel:": m2.all()[5:], "redlatch_listeners:": m2.all()[5:],
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for _, other := range kinds[kind] {
				if rule := preflight.Rule(prefix1, m1.lock, "", kind); allows(rule, other) {
					t.Fatalf("%q, for %q, allows %q of %q", rule, prefix1, other, m2.lock)
				}
			}
		}
	})
}

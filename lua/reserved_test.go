package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/hashslot"
	"github.com/redlatch/redlatch/lua"
)

// What belongs to a lock is the key of no other: such keys are told from all others.
func TestReserved(t *testing.T) {
	for _, lock := range []string{"orders:42", "app:{orders}:42", "{orders}"} {
		k := lua.KeysOf(lock, "id")
		for _, name := range all(k)[1:] {
			if !lua.Reserved(name) {
				t.Errorf("%q is not reserved", name)
			}
		}
		if lua.Reserved(lock) {
			t.Errorf("%q is reserved", lock)
		}
	}
	for _, prefix := range []string{"", "app:", "{app}:", "{app}"} {
		if key := lua.ClientKey(prefix, "id"); !lua.Reserved(key) {
			t.Errorf("%q is not reserved", key)
		}
	}
	for _, lock := range []string{"redlatch_turnstile", "redlatch", "redisson_lock", "my:redlatch_turn:{a}", "Redlatch_turn:a"} {
		if lua.Reserved(lock) {
			t.Errorf("%q is reserved", lock)
		}
	}
}

// A name that is nothing but a hash tag shares with the name in it what is Redisson's, and
// nothing of ours.
func TestKeysOfATagAlone(t *testing.T) {
	tag, name := lua.KeysOf("{a}", "id"), lua.KeysOf("a", "id")
	if tag.Channel() != name.Channel() || tag.Token() != name.Token() {
		t.Errorf("not Redisson's: %q, %q", all(tag), all(name))
	}
	for i, key := range all(tag)[:4] { // lock, epoch, turn, waiters
		if key == all(name)[i] {
			t.Errorf("both have %q", key)
		}
		if hashslot.Of(key) != hashslot.Of("a") {
			t.Errorf("%q is in another slot", key)
		}
	}
}

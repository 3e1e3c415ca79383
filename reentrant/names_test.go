package reentrant

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// What is known here already is said of an owner's field without asking anybody, and what is remembered of others is bounded.
func TestNameOf(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody there
	defer rdb.Close()
	c, err := New(rdb, WithClientName("billing"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if got := c.nameOf(c.id + ":17"); got != c.nameRecord.value || got == "" {
		t.Errorf("of this Client: %q", got)
	}
	other := func(n int) string { return fmt.Sprintf("285475da-9152-8c83-822a-%012d", n) }
	for n := range maxNames + 10 {
		c.names.learn(other(n), fmt.Sprint("other ", n))
	}
	for field, want := range map[string]string{
		other(maxNames) + ":17":                   fmt.Sprint("other ", maxNames),
		other(maxNames*2) + ":17":                 "",
		"285475da-9152-4c83-822a-67ee2f116a79:17": "", // Redisson's
		"mode": "",
	} {
		if got := c.nameOf(field); got != want {
			t.Errorf("of %s: %q, want %q", field, got, want)
		}
	}
	if n := len(c.names.known); n > maxNames {
		t.Errorf("%d names", n)
	}
}

// The field that a lock is left to is that of no owner who was named.
func FuzzNobodyIsNamed(f *testing.F) {
	f.Add("released:1")
	f.Add("=released:1")
	f.Add("1")
	f.Fuzz(func(t *testing.T, name string) {
		if field := "285475da-9152-8c83-822a-67ee2f116a79:" + explicitOwner(name); name != "" {
			if p, kept := partyOf(field); kept || p.Owner != name || p.Thread != 0 {
				t.Errorf("%q is read as %+v, %v", name, p, kept)
			}
		}
	})
}

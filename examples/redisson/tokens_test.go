//go:build interop

package redisson_test

import (
	"fmt"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// Every holder has a greater token than the one before, whoever that was.
func testTokens(t *testing.T, r *rig) {
	const name = "fenced"
	lock := r.client(t).NewLock(name, reentrant.WithFencing())
	var last int64
	risen := func(who string, token int64) {
		t.Helper()
		t.Logf("%s: %d", who, token)
		if token <= last {
			t.Errorf("%s got token %d after %d", who, token, last)
		}
		last = token
	}
	byGo := func() {
		t.Helper()
		hold, err := lock.Acquire(t.Context())
		must(t, err)
		risen("Go", hold.Token())
		r.java.want(t, last, "token", name)
		if value := r.java.do(t, "tryToken", name, 8, 50, -1); value != "null" {
			t.Errorf("Redisson got token %s for a lock that Go holds", value)
		}
		must(t, hold.Release(t.Context()))
	}

	// Redisson's counter begins with 1, Go's tokens are not below Redis' clock.
	risen("Redisson", number(t, r.java.do(t, "lockToken", name, 7)))
	r.java.do(t, "fenced unlock", name, 7)
	byGo()
	for _, command := range []string{
		fmt.Sprint("lockToken ", name, " 7"),
		fmt.Sprint("lockToken ", name, " 7 60000"),
		fmt.Sprint("tryToken ", name, " 7 100 -1"),
		fmt.Sprint("tryToken ", name, " 7 100 60000"),
	} {
		risen("Redisson", number(t, r.java.do(t, command)))
		// On re-entry too, unlike Go's.
		risen("Redisson again", number(t, r.java.do(t, "lockToken", name, 7)))
		r.java.do(t, "fenced unlock", name, 7)
		r.java.do(t, "fenced unlock", name, 7)
		byGo()
	}
	// Calls that do not return the token raise it as well.
	r.java.do(t, "fenced lock", name, 7)
	risen("Redisson's lock", number(t, r.java.do(t, "token", name)))
	r.java.do(t, "fenced unlock", name, 7)
	byGo()

	// The counter stays for ever, and after a loss the tokens rise all the same.
	if left := r.at(t, name).Do(t, "PTTL", "redisson_lock_token:{"+name+"}"); left != int64(-1) {
		t.Errorf("the counter has a TTL of %v ms", left)
	}
	r.at(t, name).Do(t, "DEL", "redisson_lock_token:{"+name+"}")
	byGo()
	risen("Redisson", number(t, r.java.do(t, "lockToken", name, 7)))
	r.java.do(t, "fenced unlock", name, 7)
}

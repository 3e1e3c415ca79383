package redlatchtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// grace is how long a Client may still hold locks when its test has ended: a goroutine may be releasing one.
const grace = time.Second

// end closes a Client with its test, and tells which locks it has left.
func (r *Redis) end(c *reentrant.Client) {
	r.t.Helper()
	r.Answer() // a Redis in trouble would keep releases from coming through
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := c.Close(ctx)
	if err == nil {
		return
	}
	if left := r.heldBy(c.ID()); len(left) > 0 {
		r.t.Errorf("redlatchtest: the test has ended, and locks are still held: %s", strings.Join(left, ", "))
	} else {
		r.t.Errorf("redlatchtest: the test has ended, and its Client cannot be closed: %v", err)
	}
	abandon(c)
}

// heldBy are the locks that Redis says a Client holds, each with its owner.
func (r *Redis) heldBy(client string) (locks []string) {
	for _, key := range r.mini.Keys() {
		if r.mini.Type(key) != "hash" {
			continue
		}
		fields, err := r.mini.HKeys(key)
		if err != nil {
			continue // it has expired since
		}
		for _, field := range fields {
			// What ReleaseAfter has left to nobody is no hold.
			if owner, is := strings.CutPrefix(field, client+":"); is && !strings.HasPrefix(owner, "=released:") {
				locks = append(locks, fmt.Sprintf("%q (owner %s)", key, owner))
			}
		}
	}
	slices.Sort(locks)
	return locks
}

// abandon closes a Client, and does not wait for holds. Close waits for the Client's goroutines only after its holds
// are gone or given up, so the second call waits for them.
func abandon(c *reentrant.Client) {
	for _, limit := range []time.Duration{0, patience} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := c.Close(ctx)
		cancel()
		if err == nil {
			return
		}
	}
}

package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// One lock on one server by way of two Clients, one of them inside a nested MultiLock: it is found
// out whichever of the nested locks comes first in their order.
func TestOneLockTwiceByNesting(t *testing.T) {
	for _, other := range []string{"aother", "bother", "cother", "dother"} {
		inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
			a, b := v.process(), v.process()
			inner, err := multilock.New(a[0].NewLock(name), a[0].NewLock(other))
			must(t, err)
			l, err := multilock.New(inner, b[0].NewLock(name))
			must(t, err)
			ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
			defer cancel()
			wants(t, l.Lock(ctx), multilock.ErrMembers)
		})
	}
}

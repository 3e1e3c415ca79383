package reentrant_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Many short holds cost few commands: the field follows every 5 ms, and owners that have come
// and gone meanwhile never appear in Redis.
func TestTimeBehindFieldFollows(t *testing.T) {
	for _, test := range []struct {
		held time.Duration
		most int // transfers for 200 hand-offs, the unknown script's first try included
	}{
		{0, 5},
		{100 * time.Microsecond, 8}, // 20 ms
		{time.Millisecond, 45},      // 200 ms
		{10 * time.Millisecond, 203},
	} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			const owners = 200
			c := v.client(locktest.WriteBehind, reentrant.WithLease(time.Hour))
			l := c.NewLock("job")
			hold, err := l.Acquire(v.ctx)
			must(t, err)
			holds, calls := waitInLine(v, l, owners)
			var mu sync.Mutex
			moves, seen := 0, make(map[string]bool)
			v.onCommand(func(cmd string, args []string) string {
				if locktest.ScriptOf(append([]string{cmd}, args...)) == "transfer" {
					mu.Lock()
					defer mu.Unlock()
					moves++
					seen[args[len(args)-8]] = true
				}
				return ""
			})
			for i, call := range calls {
				must(t, hold.Release(v.ctx))
				must(t, call.wait())
				hold = holds[i]
				time.Sleep(test.held)
			}
			v.pass(5 * time.Millisecond)
			if got := v.fields("job"); len(got) != 1 || got[hold.Owner()] != "1" {
				t.Errorf("held %v: Redis has %v, want %s", test.held, got, hold.Owner())
			}
			mu.Lock()
			if moves > test.most || len(seen) > moves || c.Stats().HandedOver != owners {
				t.Errorf("held %v: %d moves for %d hand-offs, want at most %d", test.held, moves, c.Stats().HandedOver, test.most)
			}
			mu.Unlock()
			must(t, hold.Release(v.ctx))
			if n := v.scripts(); n > moves+10 {
				t.Errorf("held %v: %d scripts", test.held, n)
			}
		})
	}
}

// At every command that reaches Redis there is one field, and it is an owner's of this Client.
func TestTimeBehindOneField(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(locktest.WriteBehind)
		l := c.NewLock("job")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		var mu sync.Mutex
		var wrong []map[string]string
		v.onCommand(func(cmd string, _ []string) string {
			if cmd != "EVALSHA" { // inside a script the server cannot be asked
				return ""
			}
			got := v.fields("job")
			for name := range got {
				if len(got) == 1 && strings.HasPrefix(name, c.ID()+":") {
					return ""
				}
			}
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, got)
			return ""
		})
		holds, calls := waitInLine(v, l, 50)
		for i, call := range calls {
			must(t, hold.Release(v.ctx))
			must(t, call.wait())
			hold = holds[i]
			time.Sleep(time.Duration(i%7) * time.Millisecond)
		}
		synctest.Wait()
		v.onCommand(nil)
		mu.Lock()
		defer mu.Unlock()
		if len(wrong) > 0 {
			t.Errorf("while the lock was held Redis had %v", wrong)
		}
		must(t, hold.Release(v.ctx))
	})
}

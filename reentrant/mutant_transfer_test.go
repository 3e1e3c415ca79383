package reentrant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A hand-off has run in Redis and its answer is lost. The second try finds the new owner's
// field and leaves the time to live as it is, so the hold is valid from the first one: in no
// mode may it be trusted for longer than the key lives.
func TestMutantHandOffCountsFromTheFirstTry(t *testing.T) {
	for what, mode := range map[string]reentrant.Handoff{"confirmed": reentrant.Confirmed, "write-behind": reentrant.WriteBehind} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				const lease = 30 * time.Second
				rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.ReadTimeout = time.Second })
				l := newClient(t, rdb, reentrant.WithLease(lease), reentrant.WithHandoff(mode)).NewLock("job")
				first, err := l.Acquire(owner(v.ctx, "a"))
				must(t, err)
				var second *reentrant.Hold
				waiter := begin(func() (err error) {
					second, err = l.Acquire(owner(v.ctx, "b"))
					return err
				})
				v.pass(lease / 6)
				tries := 0
				v.onCommand(func(cmd string, args []string) string {
					if cmd != "EVALSHA" || args[1] != "3" || !strings.HasPrefix(args[3], "redlatch_epoch") {
						return "" // not the script
					}
					if tries++; tries > 1 {
						return ""
					}
					for field := range v.fields("job") { // what the script does
						v.mini.HDel("job", field)
						v.mini.HSet("job", strings.TrimSuffix(field, "a")+"b", "1")
					}
					v.mini.SetTTL("job", lease)
					time.Sleep(2 * time.Second) // longer than go-redis waits
					return loading              // nobody hears it
				})
				must(t, first.Release(v.ctx))
				must(t, waiter.wait())
				v.pass(3 * time.Second) // and not to the next renewal
				if tries != 2 {
					t.Fatalf("%d tries", tries)
				}
				if fields := v.fields("job"); fields[second.Owner()] != "1" || len(fields) != 1 {
					t.Fatalf("the hash is %v, want the one field %s", fields, second.Owner())
				}
				if trusted, lives := time.Until(second.ValidUntil()), v.ttl("job"); trusted > lives {
					t.Errorf("trusted for %v, and the key lives for %v", trusted, lives)
				}
				v.onCommand(nil)
				must(t, second.Release(v.ctx))
			})
		})
	}
}

package lua_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

const (
	name  = "orders:42"
	lease = time.Minute
	// within bounds what only a server can tell, on a machine that is busy.
	within = 10 * time.Second
)

// rig is a server with one lock on it.
type rig struct {
	rdb     *redis.Client
	real    *redistest.Server    // nil on miniredis
	mini    *miniredis.Miniredis // nil on a real server
	strange []string             // keys that a test has put there, which are not ours to judge
}

// onBoth runs a test on a real server and on miniredis. Whatever the test did,
// no key may be left that is not one of the lock's, and none without a TTL but
// the token counter, which is Redisson's.
func onBoth(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) { onReal(t, test) })
	t.Run("miniredis", func(t *testing.T) {
		m, rdb := redistest.Mini(t)
		r := &rig{rdb: rdb, mini: m}
		test(t, r)
		r.wantTidy(t)
	})
}

func onReal(t *testing.T, test func(t *testing.T, r *rig)) {
	s := redistest.Start(t)
	r := &rig{rdb: s.Client(t), real: s}
	test(t, r)
	r.wantTidy(t)
}

func (r *rig) wantTidy(t *testing.T) {
	t.Helper()
	k := lua.KeysOf(name, "")
	for _, key := range r.rdb.Keys(t.Context(), "*").Val() {
		if slices.Contains(r.strange, key) {
			continue
		}
		known := key == k.Lock || key == k.Turn() || key == k.Waiters() || key == k.Token() || strings.HasPrefix(key, k.Epoch()) ||
			key == k.Readers() || key == k.Barrier() || strings.Contains(key, ":rwlock_timeout:")
		theirs := key == k.Queue() || key == k.Timeouts() // Redisson's, without a TTL
		if !known && !theirs {
			t.Errorf("a key that nobody knows: %q", key)
		}
		// -2 is that it has expired since KEYS: a turn lasts 100 ms.
		if ttl := r.rdb.PTTL(t.Context(), key).Val(); ttl == -1 && key != k.Token() && !theirs {
			t.Errorf("%q has no TTL", key)
		}
	}
}

// expire ends the life of a key by Redis' own clock.
func (r *rig) expire(t *testing.T, key string) {
	t.Helper()
	if ok, err := r.rdb.PExpire(t.Context(), key, time.Millisecond).Result(); !ok || err != nil {
		t.Fatalf("PEXPIRE %s: %v, %v", key, ok, err)
	}
	redistest.Eventually(t, within, key+" expires", func() bool {
		return r.rdb.Exists(t.Context(), key).Val() == 0
	})
}

// foreign puts a key there that other software owns.
func (r *rig) foreign(t *testing.T, key string, cmd ...any) {
	t.Helper()
	r.strange = append(r.strange, key)
	if err := r.rdb.Do(t.Context(), cmd...).Err(); err != nil {
		t.Fatal(err)
	}
}

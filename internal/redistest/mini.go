package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/minired"
)

// Mini starts a miniredis and a client of it, both of which end with the test.
// They share this process and no socket, so both work inside a testing/synctest
// bubble; call Mini inside it, with the bubble's t.
//
// Keys expire as time passes: the bubble's time inside one, the wall clock's
// outside. The server has no address; further clients come from [MiniClient].
//
// A dial after m.Close starts m again, with its data.
func Mini(t testing.TB) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	m := minired.New()
	t.Cleanup(m.Close)
	return m, MiniClient(t, m)
}

// MiniClient returns one more client of m, which is closed with the test.
func MiniClient(t testing.TB, m *miniredis.Miniredis, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	door := minired.NewDoor(m)
	opts := minired.Options(door.Dial)
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClient(opts)
	t.Cleanup(func() {
		door.Shut()
		rdb.Close()
	})
	return rdb
}

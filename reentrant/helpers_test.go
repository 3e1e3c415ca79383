package reentrant_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// What stands in every other line has a short name.
var (
	must      = locktest.Must
	wants     = locktest.Wants
	ended     = locktest.Ended
	owner     = locktest.Owner
	asHolder  = locktest.AsHolder
	newClient = locktest.NewClient
)

// backend is one Redis to try the lock on.
type backend struct {
	name   string
	client func() redis.UniversalClient // each call makes another, as another process would
	mode   reentrant.Handoff            // of the Clients that newClient makes
}

// newClient is the function of that name with the mode of hand-off of this run.
func (b backend) newClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	return newClient(t, rdb, append([]reentrant.Option{reentrant.WithHandoff(b.mode)}, opts...)...)
}

// onEveryBackend runs a conformance test on miniredis and on a real server, on each with
// confirmed and with write-behind hand-off.
func onEveryBackend(t *testing.T, test func(t *testing.T, b backend)) {
	onEveryServer(t, func(t *testing.T, b backend) {
		test(t, b)
		b.mode = reentrant.WriteBehind
		t.Run("write-behind", func(t *testing.T) { test(t, b) })
	})
}

// onEveryServer runs a test on miniredis and on a real server.
func onEveryServer(t *testing.T, test func(t *testing.T, b backend)) {
	t.Run("miniredis", func(t *testing.T) {
		m, _ := redistest.Mini(t)
		test(t, backend{name: "miniredis", client: func() redis.UniversalClient { return redistest.MiniClient(t, m) }})
	})
	t.Run("server", func(t *testing.T) {
		s := redistest.Start(t)
		test(t, backend{name: "server", client: func() redis.UniversalClient { return s.Client(t) }})
	})
}

// hash reads the lock's hash as it stands in Redis.
func hash(t testing.TB, rdb redis.UniversalClient, key string) map[string]string {
	t.Helper()
	fields, err := rdb.HGetAll(context.Background(), key).Result()
	must(t, err)
	return fields
}

package faultproxy_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
)

// Forget silences the connections that there are, also after Heal, and no new one.
func TestForget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 200*time.Millisecond, -1 })
	ctx := t.Context()
	if err := rdb.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	r.proxy.Forget(faultproxy.Any)
	r.proxy.Heal()
	if err := rdb.Ping(ctx).Err(); err == nil {
		t.Fatal("a connection that was forgotten is answered")
	}
	if err := rdb.Ping(ctx).Err(); err != nil {
		t.Fatalf("a new connection: %v", err)
	}
}

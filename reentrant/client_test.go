package reentrant_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

func TestRingIsRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	if _, err := reentrant.New(ring); !errors.Is(err, reentrant.ErrInvalidOption) {
		t.Errorf("New: %v", err)
	}
}

func TestNoRedisClientIsRefused(t *testing.T) {
	var single *redis.Client
	var cluster *redis.ClusterClient
	for _, none := range []redis.UniversalClient{nil, single, cluster} {
		if _, err := reentrant.New(none); !errors.Is(err, reentrant.ErrInvalidOption) {
			t.Errorf("New(%T): %v", none, err)
		}
	}
}

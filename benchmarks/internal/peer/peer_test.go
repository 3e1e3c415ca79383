//go:build unix

package peer_test

import (
	"testing"

	"github.com/redlatch/redlatch/benchmarks/internal/peer"
)

// The Java program knows kinds of locks by these words.
func TestRedissonKind(t *testing.T) {
	for name, want := range map[string]string{"redisson": "", "redisson-fair": "fair", "redisson-read": "read"} {
		if _, ok := peer.Find(name); !ok {
			t.Errorf("there is no peer %q", name)
		}
		if got := peer.RedissonKind(name); got != want {
			t.Errorf("%s: kind %q, want %q", name, got, want)
		}
	}
}

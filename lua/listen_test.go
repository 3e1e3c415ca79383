package lua_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// subscription is what one waiter is subscribed to.
type subscription struct {
	ps       *redis.PubSub
	channels []string
}

// listen returns when Redis has confirmed every channel. As every Go client does, it
// also listens where such clients are counted.
func listen(t *testing.T, r *rig, channels ...string) *subscription {
	t.Helper()
	all := slices.Clone(channels)
	for _, channel := range channels {
		if rest, ok := strings.CutPrefix(channel, "redisson_rwlock"); ok {
			all = append(all, "redlatch_listeners"+rest)
		}
		if rest, ok := strings.CutPrefix(channel, "redisson_lock__channel"); ok {
			all = append(all, "redlatch_listeners"+rest)
		}
	}
	s := &subscription{ps: r.rdb.Subscribe(t.Context(), all...), channels: channels}
	t.Cleanup(func() { s.ps.Close() })
	for range all {
		if _, err := s.ps.ReceiveTimeout(t.Context(), within); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *subscription) next(t *testing.T) *redis.Message {
	t.Helper()
	got, err := s.ps.ReceiveTimeout(t.Context(), within)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := got.(*redis.Message)
	if !ok {
		t.Fatalf("%T %v", got, got)
	}
	return m
}

func (s *subscription) want(t *testing.T, channel, payload string) {
	t.Helper()
	if m := s.next(t); m.Channel != channel || m.Payload != payload {
		t.Fatalf("%q on %q, want %q on %q", m.Payload, m.Channel, payload, channel)
	}
}

// wantNothing sends a message of its own: messages of one connection keep their
// order, so it is the next one only if no other came before.
func (s *subscription) wantNothing(t *testing.T, r *rig) {
	t.Helper()
	for _, channel := range slices.Backward(s.channels) {
		if n := r.rdb.Publish(t.Context(), channel, "end").Val(); n < 1 {
			t.Fatalf("%d hear %q", n, channel)
		}
		s.want(t, channel, "end")
	}
}

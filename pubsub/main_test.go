package pubsub_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/pubsub"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// recorder is a Listener that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	events []pubsub.Event
}

func (r *recorder) listen(ev pubsub.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

// take returns the events since the last take.
func (r *recorder) take() []pubsub.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

func (r *recorder) count(kind pubsub.Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, ev := range r.events {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// wantEvents checks what a recorder was told since it was last asked.
func wantEvents(t *testing.T, r *recorder, want ...pubsub.Event) {
	t.Helper()
	got := r.take()
	if len(got) != len(want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("events %v, want %v", got, want)
		}
	}
}

func subscribed(channel string) pubsub.Event {
	return pubsub.Event{Kind: pubsub.Subscribed, Channel: channel}
}

func resubscribed(channel string) pubsub.Event {
	return pubsub.Event{Kind: pubsub.Resubscribed, Channel: channel}
}

func message(channel, payload string) pubsub.Event {
	return pubsub.Event{Kind: pubsub.Message, Channel: channel, Payload: payload}
}

// closeHub closes a hub that is expected to end at once.
func closeHub(t *testing.T, h *pubsub.Hub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

package pubsub_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redlatch/redlatch/pubsub"
)

// Listen itself calls a listener whose channel is confirmed already. Close waits for that too, or
// returns ctx's cause: after it has returned nil, its caller may let go of what the listener uses.
func TestCloseWaitsForAListenerCalledByListen(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		b.hub.Listen("a", func(pubsub.Event) {})
		b.settle()
		called, let := make(chan struct{}), make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.hub.Listen("a", func(pubsub.Event) {
				close(called)
				<-let
			})
		}()
		<-called
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if err := b.hub.Close(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("Close = %v while a listener is called", err)
		}
		closed := make(chan error, 2)
		for range cap(closed) { // however many wait
			go func() { closed <- b.hub.Close(b.Context()) }()
		}
		b.settle()
		if len(closed) > 0 {
			b.Error("Close has returned while a listener is called")
		}
		close(let)
		for range cap(closed) {
			if err := <-closed; err != nil {
				b.Errorf("Close = %v", err)
			}
		}
		<-done
		b.hub.Listen("a", func(pubsub.Event) { b.Error("called after Close") })
		if err := b.hub.Close(ctx); err != nil {
			b.Errorf("Close = %v with nothing to wait for", err)
		}
	})
}

package demo

import (
	"context"
	"encoding/json"
	"io"
	"sync"
)

// mailbox is one end of two pipes, on which JSON values go in both directions.
type mailbox struct {
	to   io.WriteCloser
	from *json.Decoder

	sending  sync.Mutex
	received chan json.RawMessage // closed when the other end is
	stop     chan struct{}        // closed when nobody receives any more
}

func newMailbox(to io.WriteCloser, from io.Reader) *mailbox {
	return &mailbox{to: to, from: json.NewDecoder(from), received: make(chan json.RawMessage), stop: make(chan struct{})}
}

// deliver returns when the other end has closed its pipe. It calls ended before anybody
// can see that.
func (m *mailbox) deliver(ended func()) {
	defer close(m.received)
	for {
		var message json.RawMessage
		if m.from.Decode(&message) != nil {
			ended()
			return
		}
		select {
		case m.received <- message:
		case <-m.stop: // read on, to see the end
		}
	}
}

// Send gives the other process a value. It may be called from any goroutine.
func (m *mailbox) Send(v any) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	return json.NewEncoder(m.to).Encode(v)
}

// Receive waits for the next value from the other process. The error is io.EOF when that
// has ended, or ctx's cause.
func (m *mailbox) Receive(ctx context.Context, v any) error {
	select {
	case message, ok := <-m.received:
		if !ok {
			return io.EOF
		}
		return json.Unmarshal(message, v)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package pubsub

import "github.com/redlatch/redlatch/internal/hashslot"

// Confirmed reports whether Redis has confirmed the channel on the present connection, for any
// listener: Listen would deliver Subscribed at once. It may have changed by the time the caller looks
// at it.
func (h *Hub) Confirmed(channel string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.plain
	if h.router != nil {
		s := h.router.slots[hashslot.Of(channel)]
		if s == nil {
			return false
		}
		l = s.line
	}
	ch := l.registry.channels[channel]
	return ch != nil && !h.closed && ch.confirmed()
}

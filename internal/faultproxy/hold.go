package faultproxy

import (
	"context"
	"time"
)

// releaseTimeout bounds the execution of one held request.
const releaseTimeout = 10 * time.Second

// held is a request that the server has not seen yet.
type held struct {
	from      *session
	handshake [][]byte // what its connection was set up with
	request   []byte
}

func (h *RuleHandle) hold(s *session, req frame) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	h.held = append(h.held, &held{from: s, handshake: s.handshake, request: req.raw})
}

// Release has the server execute the requests that [HoldRequest] has kept, in the
// order of their arrival and each on a connection of its own, and returns their
// replies in RESP. A client that still waits for one has its connection closed
// first: it can never read the reply.
func (h *RuleHandle) Release() []string {
	h.p.tb.Helper()
	h.p.mu.Lock()
	requests := h.held
	h.held = nil
	h.p.mu.Unlock()

	replies := make([]string, 0, len(requests))
	for _, r := range requests {
		r.from.close()
		reply, err := r.execute(h.p)
		if err != nil {
			h.p.tb.Errorf("faultproxy: executing a held request: %v", err)
			continue
		}
		replies = append(replies, reply)
	}
	return replies
}

func (r *held) execute(p *Proxy) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, releaseTimeout)
	defer cancel()
	conn, err := p.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(releaseTimeout)); err != nil {
		return "", err
	}
	replies := newFrameReader(conn)
	var last frame
	for _, request := range append(r.handshake[:len(r.handshake):len(r.handshake)], r.request) {
		if _, err := conn.Write(request); err != nil {
			return "", err
		}
		if last, err = replies.reply(); err != nil {
			return "", err
		}
	}
	return string(last.raw), nil
}

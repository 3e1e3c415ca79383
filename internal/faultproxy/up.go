package faultproxy

import (
	"slices"
	"strings"
)

// up moves requests to the server until the client ends the connection.
func (s *session) up() {
	requests := newFrameReader(s.client)
	deaf := false // a request was swallowed; so is the rest
	for {
		req, err := requests.request()
		if err != nil {
			s.check(err)
			break
		}
		if len(req.args) == 0 {
			continue // Redis ignores empty requests as well
		}
		if deaf {
			s.p.count(req.args[0])
			continue
		}
		var open bool
		if deaf, open = s.request(req); !open {
			s.close()
			return
		}
	}
	// The client has gone. What it sent is on its way to the server all the
	// same, so only this direction ends; down goes on until the server, having
	// read everything, closes its side.
	if !s.p.gates.wait(upstream, s) || s.server.CloseWrite() != nil {
		s.close()
	}
}

// request handles one request. It returns whether the server may see no more of
// this connection, and whether the connection stays open.
func (s *session) request(req frame) (deaf, open bool) {
	if subscribes(req.args[0]) {
		s.subscribed.Store(true)
	}
	action, rule := s.p.decide(s.class(), req.args)
	switch action.kind {
	case dropBefore:
		return false, false
	case swallowRequest:
		return true, true
	case holdRequest:
		rule.hold(s, req)
		return true, true
	case delay:
		if !s.pause(action.delay) {
			return false, false
		}
	case duplicate:
		return false, s.forward(req, keep) && s.forward(req, deliverKept)
	}
	s.remember(req)
	return false, s.forward(req, reactionTo[action.kind])
}

var reactionTo = map[kind]reaction{
	dropAfter:    dropSession,
	resetAfter:   resetSession,
	swallowReply: goSilent,
}

func (s *session) forward(req frame, r reaction) bool {
	if !s.p.gates.wait(upstream, s) {
		return false
	}
	s.expect(r)
	_, err := s.server.Write(req.raw)
	return err == nil
}

// remember keeps what a request that is held needs to run on another connection.
func (s *session) remember(req frame) {
	if Named("HELLO", "AUTH", "SELECT")(req.args) {
		s.handshake = append(s.handshake, req.raw)
	}
}

func subscribes(command string) bool {
	return slices.Contains([]string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"}, strings.ToUpper(command))
}

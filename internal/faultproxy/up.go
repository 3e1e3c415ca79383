package faultproxy

import (
	"slices"
	"strings"
)

// up moves requests to the server until the client ends the connection.
func (s *session) up() {
	requests := newFrameReader(s.client)
	deaf := false // a request did not get to the server; nor does the rest
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
		deaf = !s.request(req)
	}
	// The client has gone. What it sent is on its way to the server all the
	// same, so only this direction ends; down goes on until the server, having
	// read everything, closes its side.
	if !s.p.gates.wait(upstream, s) || !s.closeWrite() {
		s.close()
	}
}

// request handles one request and returns whether the server may see the next.
func (s *session) request(req frame) bool {
	if subscribes(req.args[0]) {
		s.subscribed.Store(true)
	}
	action, rule := s.p.decide(s.class(), req.args)
	switch action.kind {
	case dropBefore:
		s.close()
		return false
	case swallowRequest:
		return false
	case holdRequest:
		rule.hold(s, req)
		return false
	case delay:
		if !s.pause(action.delay) {
			return false
		}
	case stallRequest:
		if !s.stall(rule.resumed) {
			return false
		}
	case duplicate:
		return s.forward(req, answer{reaction: keep}) && s.forward(req, answer{reaction: deliverKept})
	case refuse:
		// The server answers the PING at the refused request's place in the line. On a connection of any class
		// it answers with one frame.
		return s.forward(frame{raw: []byte("*1\r\n$4\r\nPING\r\n")}, answer{instead: action.text})
	}
	s.remember(req)
	return s.forward(req, answer{reaction: reactionTo[action.kind], late: action.late()})
}

var reactionTo = map[kind]reaction{
	dropAfter:    dropSession,
	resetAfter:   resetSession,
	swallowReply: goSilent,
}

// forward sends a request to the server. When that fails the server has gone, or
// the session was closed; the client learns it from down, and not before a closed
// gate opens.
func (s *session) forward(req frame, a answer) bool {
	if !s.p.gates.wait(upstream, s) {
		return false
	}
	s.expect(a)
	return s.p.write(s.server, req.raw) == nil
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

package faultproxy

import (
	"strings"
	"time"
)

// reaction is what the session does when the server has answered a request.
type reaction int

const (
	deliver      reaction = iota
	keep                  // for deliverKept
	deliverKept           // drop this reply and deliver the one that was kept
	goSilent              // deliver neither this reply nor any after it
	dropSession           // close instead of delivering
	resetSession          // close by RST instead of delivering
)

// answer is what is to become of one reply.
type answer struct {
	reaction
	late    time.Duration // how much later the client gets it, and what is behind it
	instead []byte        // what the client gets in its place; nil for the reply itself
}

func (a answer) plain() bool { return a.reaction == deliver && a.late == 0 && a.instead == nil }

// expect notes, before a request is sent, what to do with its reply.
func (s *session) expect(a answer) {
	// On a pub/sub connection requests and frames do not come in pairs (one
	// SUBSCRIBE has as many confirmations as channels), so only a reaction that
	// differs is noted, for the next frame that is not a message.
	if s.class() == PubSub && a.plain() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, a)
}

// reactTo finds what to do with a frame from the server.
func (s *session) reactTo(f frame) answer {
	if s.class() == PubSub {
		if isMessage(f) {
			return answer{late: time.Duration(s.p.messagesLate.Load())}
		}
	} else if f.kind == '>' {
		return answer{} // out of band: answers no request
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return answer{} // unasked, as "max number of clients reached" is
	}
	a := s.pending[0]
	s.pending = s.pending[1:]
	return a
}

// down moves replies to the client until the server ends the connection.
func (s *session) down() {
	replies := newFrameReader(s.server)
	silent := false // a reply was swallowed; so is the rest
	var kept frame
	for {
		f, err := replies.reply()
		if err != nil {
			s.check(err)
			// Nor does the end of the connection pass a closed gate.
			if s.p.gates.wait(downstream, s) {
				s.close()
			}
			return
		}
		a := s.reactTo(f)
		switch a.reaction {
		case deliver:
		case keep:
			kept = f
			continue
		case deliverKept:
			f = kept
		case goSilent:
			silent = true
		case dropSession:
			s.close()
			return
		case resetSession:
			s.reset()
			return
		}
		if silent {
			continue
		}
		if a.instead != nil {
			f.raw = a.instead
		}
		if a.late > 0 && !s.pause(a.late) || !s.p.gates.wait(downstream, s) {
			return
		}
		// A client that is gone is no reason to stop: the server is to read
		// all it was sent, and it would stop at a reset.
		_ = s.p.write(s.client, f.raw)
	}
}

func isMessage(f frame) bool {
	return len(f.args) > 0 && strings.HasSuffix(f.args[0], "message")
}

package faultproxy

import (
	"strings"
	"time"
)

// Action is what happens to a request that a [Rule] has picked.
type Action struct {
	kind  kind
	delay time.Duration
	text  []byte // of RefuseWith, in RESP
}

type kind int

const (
	pass kind = iota
	dropBefore
	dropAfter
	resetAfter
	swallowReply
	swallowRequest
	delay
	duplicate
	holdRequest
	stallRequest
	delayReply
	refuse
)

var (
	// DropBefore closes the connection; the server never sees the request.
	DropBefore = Action{kind: dropBefore}

	// DropAfter lets the server execute the request and answer it, then closes
	// the connection without the reply. The client reads the end of the stream.
	DropAfter = Action{kind: dropAfter}

	// ResetAfter is DropAfter with a RST instead of a FIN. The client reads
	// "connection reset by peer", or the end of the stream if something has
	// looked at the socket before: go-redis does, for push messages.
	ResetAfter = Action{kind: resetAfter}

	// SwallowReply lets the server execute the request and keeps the reply, and
	// all replies after it, from the client. The connection stays open.
	SwallowReply = Action{kind: swallowReply}

	// SwallowRequest keeps the request, and all requests after it on its
	// connection, from the server. The connection stays open.
	SwallowRequest = Action{kind: swallowRequest}

	// Duplicate sends the request twice. When both have been answered, the client
	// gets the first reply.
	Duplicate = Action{kind: duplicate}

	// HoldRequest keeps the request as SwallowRequest does, until
	// [RuleHandle.Release] has the server execute it on a connection of its own:
	// a request that arrives long after its client gave up.
	HoldRequest = Action{kind: holdRequest}

	// StallRequest is a Delay of unknown length: the request, and the ones behind it
	// on its connection, wait for [RuleHandle.Resume]. A step that a test has to act in
	// lasts until the test has acted, however slow its machine is.
	StallRequest = Action{kind: stallRequest}
)

// Delay sends the request on after d, and the ones behind it on its connection
// after it. A client that has closed the connection by then does not stop it.
func Delay(d time.Duration) Action { return Action{kind: delay, delay: d} }

// DelayReply lets the server execute the request at once, and passes its reply on after d, and the ones behind it
// on its connection after it.
func DelayReply(d time.Duration) Action { return Action{kind: delayReply, delay: d} }

// RefuseWith answers the request with an error, for example "LOADING Redis is loading the dataset in memory". The
// server never sees the request.
func RefuseWith(text string) Action {
	return Action{kind: refuse, text: []byte("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")}
}

// late is how much later the reply is to be passed on.
func (a Action) late() time.Duration {
	if a.kind == delayReply {
		return a.delay
	}
	return 0
}

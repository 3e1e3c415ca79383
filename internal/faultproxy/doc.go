// Package faultproxy is a proxy that stands between a Redis client and its server
// in tests, and breaks what a [Rule] tells it to break. [Start] begins one for TCP,
// [Inside] one that needs no socket and works inside a testing/synctest bubble.
//
// It reads RESP, so it knows requests from replies and can do what a proxy of
// bytes cannot: let the server execute an EVALSHA and lose the answer, execute a
// request long after its client gave up, or silence the pub/sub connection and
// no other.
//
// # Classes
//
// A connection that has sent SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE is of class
// [PubSub] from that request on; every other one, and each one during its
// handshake, is of class [Command].
//
// # What stays true of TCP
//
// Bytes arrive in order or not at all. After a request or a reply was swallowed,
// everything that follows it in that direction of that connection is swallowed
// too. Bytes that a [Proxy.Blackhole] stops are not lost: they move on at
// [Proxy.Heal], as retransmitted packets would, even if their sender has closed
// the connection in the meantime. [Proxy.Slice] changes how many bytes
// travel at a time, and nothing else.
//
// # Limits
//
// Each request must have one reply: no CLIENT REPLY OFF, no MONITOR. On a
// pub/sub connection, the reply to a request is taken to be the next frame that
// is not a message.
package faultproxy

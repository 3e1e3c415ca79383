// Package pubsub shares one Redis subscription connection among all the waiters
// of one client; in a Redis Cluster, one for each node that serves a lock.
//
// A waiter calls [Hub.Listen] with a channel and a function, and is called when
// something is published there. Messages are hints and no more: Redis forgets a
// message that finds nobody subscribed, so a waiter must also look for itself
// after each [Subscribed] and each [Resubscribed], and now and then without
// being called at all.
//
// # Lines
//
// A line is one connection and the registry of its channels. A hub for a server
// or a Sentinel group has one, on which it sends SUBSCRIBE. A hub for a
// *redis.ClusterClient has, with Config.Sharded, one for each node, on which it sends
// SSUBSCRIBE, and a plain one for nodes without sharded pub/sub: what is published at
// any of these reaches SUBSCRIBE at any node. One connection a node and not one a slot:
// a process that waits for 1000 locks would need 1000 connections, and Redis needs
// none of them, as long as each command names the channels of one slot.
//
// # States of a channel
//
// A channel is in a line's registry while somebody listens to it, for
// Config.Linger after the last listener has left (at most 1024 channels of a line
// linger; above that the oldest goes at once), and then until Redis has answered
// the UNSUBSCRIBE.
//
// It is confirmed when the last command sent for it on the present connection
// was SUBSCRIBE and Redis has answered that. The next command is not sent
// before the last one was answered for every channel in it, so a channel has
// one answer to expect at most. A late answer to an UNSUBSCRIBE thus cannot
// pass for the loss of a newer subscription, nor the answer to an older
// SUBSCRIBE for the confirmation of a newer one.
//
// # States of a slot
//
// All channels of a slot are on one line. The slot is
//
//   - waiting while its node is to be found: its channels are in limbo, a line
//     that is never started;
//   - placed at a node's line, or at the plain one if that node has no sharded
//     pub/sub;
//   - served once Redis has confirmed a channel in it.
//
// It goes from placed or served back to waiting when the node says that it does
// not serve it: by MOVED or any other refusal of SSUBSCRIBE, or by a
// sunsubscribe that nobody asked for, which is what a node sends when the slot has
// left it. The next attempt comes after a backoff of the slot's own, so that a slot
// in trouble does not disturb the others.
//
// It goes from one line to another without a word from the node when go-redis' map
// of the cluster says so: at once if the line has no connection, else if two checks
// in a row say so. Checks cost no I/O. They come every 10s, and sooner after
// something went wrong, when go-redis is also asked to renew the map. They are
// needed because a node may go on without a word: one that was cut off does not
// know that it is no master any more, and a replica accepts SSUBSCRIBE for the slots
// of its master.
//
// When a slot moves, its listeners go to channels of the same names on the other
// line, and are told Resubscribed there. What is left of a channel on the old line
// has no listeners, and goes as such channels do.
//
// # Plain or sharded
//
// Who listens and who publishes must decide alike, Redisson included, and there is
// nobody to tell them. So all ask the node that serves the slot the question that
// Redisson asks at its start, PUBSUB SHARDNUMSUB. If it is answered, sharded;
// if it is refused, for whatever reason, plain. The hub asks before it opens a
// connection, a script asks while it runs. A refusal holds for a minute, since
// the node may be upgraded. If SSUBSCRIBE is refused all the same, the command and
// not the channel, the slots of the node are plain for a minute, too. Without
// Config.Sharded all is plain, for a cluster where others do not decide like this. A
// *redis.ClusterClient with options of its own for the slots (ClusterSlots, as that of
// go-redis for a Sentinel group has) is not taken for a cluster: the servers do not
// take themselves for one.
//
// # Goroutines
//
// A line's manager is started by the first Listen, in a cluster by the router. It
// owns the connection: it opens and closes it, and it alone writes to it.
// SUBSCRIBE, UNSUBSCRIBE and PING go out in its order, up to 500 channels in a
// command, or in a cluster in as many commands as there are slots among 500
// channels, for whatever the difference is between what is wanted and what was
// sent. It ends when no channel of the line is wanted any more, or at Close. At most
// one manager of a line runs at a time.
//
// The reader is started by the manager for each connection, reads it, and calls
// the listeners. The manager waits for it before it opens another connection or
// ends.
//
// The router is started by the first Listen in a cluster. It asks go-redis for
// the nodes of waiting slots and does the checks. It ends after all managers have;
// Close waits for it.
//
// There are no other goroutines, and one timer for each manager and the router; a
// channel, a slot and a listener cost memory only. While go-redis renews its map it
// has a goroutine of its own.
//
// # Locks
//
// Hub.mu guards the registries, the slots, and whether managers and router run. It
// is never held during I/O or while a listener is called. A listener's own mutex
// keeps the calls to it apart. The order is: the listener's, then the hub's.
//
// # When Redis answers late, twice or never
//
// Late: the channel stays unconfirmed and its listeners are told nothing; they
// live on their own polling.
//
// Twice, or without having been asked: the connection is not in the state that
// was believed, so it is replaced. go-redis reconnects a PubSub behind its
// user's back in some cases, and that is how it is noticed. A sunsubscribe is
// different: a node may send it at any time. It answers an SUNSUBSCRIBE if Redis, which
// answers in order, has answered all that was sent before that; otherwise it ends the
// subscription if there is one, and else says nothing new. If both cross, the node's
// MOVED for the SUNSUBSCRIBE may find it answered already, and says nothing new either.
//
// Never: go-redis does not notice a half-open connection. After
// Config.PingInterval of silence the manager sends a PING, and when nothing at
// all has come Config.PingTimeout later, it replaces the connection. It also
// does when a SUBSCRIBE or UNSUBSCRIBE is unanswered for the sum of both,
// whatever else arrives. Writes are limited by Config.PingTimeout; while one is
// stalled, the reader may be held up with it, since go-redis has one mutex for
// both, but nobody else. While a connection is being opened or a node is asked, the
// limits are the client's own DialTimeout, ReadTimeout and WriteTimeout: a client
// that has switched these off can keep the manager, or the router while go-redis
// has no map at all, waiting for as long as the network does.
//
// An error: the connection is replaced after a random delay of at most
// MinBackoff, doubled with each failure up to MaxBackoff. Outside a cluster a
// refusal (NOPERM) of a SUBSCRIBE is an error like any other. Redis refuses the
// whole command and does not say which channel it was for: while somebody listens to
// a channel that is forbidden to the user, the hub reconnects every MaxBackoff or
// sooner, and all its other channels may be deaf. In a cluster it is those of the
// same slot. A refused PING is a sign of life.
package pubsub

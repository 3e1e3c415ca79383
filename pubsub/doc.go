// Package pubsub shares one Redis subscription connection among all the waiters of one client; in a
// Redis Cluster, one for each node that serves a lock.
//
// A waiter calls [Hub.Listen] with a channel and a function. The hub calls the function when
// something is published there. A waiter must not depend on messages: Redis forgets one when nobody
// is subscribed. So a waiter must also look for itself after each [Subscribed] and each
// [Resubscribed], and now and then without being called at all.
//
// # Node connections
//
// A node connection is one connection and the registry of its channels. In the code a variable that
// has one is called line. A hub for a server or a Sentinel group has one, on which it sends
// SUBSCRIBE. A hub for a *redis.ClusterClient has, with Config.Sharded, one for each node, on which
// it sends SSUBSCRIBE. It has a plain one besides, for nodes without sharded pub/sub: SUBSCRIBE at
// any node hears what is published at one of these.
//
// There is one connection for a node, not for a slot: a process that waits for 1000 locks would need
// 1000 connections. Redis does not need them, as long as each command names the channels of one slot.
//
// # States of a channel
//
// A channel is in the registry of a node connection while it has a listener, then for Config.Linger
// after the last listener has left, and then until Redis has answered the UNSUBSCRIBE. At most 1024
// channels of a node connection linger; above that the oldest is unsubscribed at once.
//
// It is confirmed when the last command sent for it on the present connection was SUBSCRIBE and Redis
// has answered it. The next command is sent only when the last one was answered for every channel in
// it, so a channel has at most one answer to expect. Without that a late answer to an UNSUBSCRIBE
// could pass for the loss of a newer subscription, and the answer to an older SUBSCRIBE for the
// confirmation of a newer one.
//
// # States of a slot
//
// All channels of a slot are on one node connection. The slot is
//
//   - waiting while its node is not known: its channels are unassigned, in the registry of a node
//     connection that is never started (the router's limbo);
//   - placed at a node's connection, or at the plain one if that node has no sharded
//     pub/sub;
//   - served once Redis has confirmed a channel in it.
//
// It goes from placed or served back to waiting when the node says that it does not serve the slot:
// by MOVED or any other refusal of SSUBSCRIBE, or by a sunsubscribe without a request, which a node
// sends when the slot has left it. The next attempt comes after a backoff of the slot's own, so that
// a slot in trouble does not disturb the others.
//
// It goes from one node connection to another without a word from the node when go-redis' map of the
// cluster says so: at once if there is no connection, else if two checks in a row say so. Checks cost
// no I/O. They come every 10s, and sooner after something went wrong; then go-redis is also asked to
// renew the map. They are needed because a node may go on in silence: a node that was cut off does
// not know that it is no master any more, and a replica accepts SSUBSCRIBE for the slots of its
// master.
//
// When a slot moves, its listeners go to channels of the same names on the other node connection, and
// are told Resubscribed there. The channels that remain on the old one have no listeners, and are
// unsubscribed like other channels without listeners.
//
// # Plain or sharded
//
// Clients that listen and clients that publish must decide alike, Redisson included, and nothing
// tells them the answer. So all of them ask the node that serves the slot the question that Redisson
// asks at its start, PUBSUB SHARDNUMSUB. If the node answers it, sharded; if it refuses, for whatever
// reason, plain. The hub asks before it opens a connection, a script asks while it runs. A refusal
// holds for a minute, since the node may be upgraded. The node may answer and still refuse the
// command SSUBSCRIBE itself, not just a channel: then its slots are plain for a minute, too.
//
// Without Config.Sharded all is plain, for a cluster where other clients do not decide like this. A
// *redis.ClusterClient with its own source of the slots (ClusterSlots, which go-redis sets for a
// Sentinel group) is not taken for a cluster: its servers do not regard themselves as one.
//
// # Goroutines
//
// The first Listen starts the connection loop; in a cluster the router does. The loop owns the
// connection: it opens and closes it, and it alone writes to it. It sends SUBSCRIBE, UNSUBSCRIBE and
// PING in an order of its own, for the channels that are wanted and not sent, or sent and not wanted.
// A command has up to 500 channels; in a cluster 500 channels take as many commands as they have
// slots. The loop ends when no channel of the node connection is wanted any more, or at Close. A node
// connection has at most one loop at a time.
//
// The connection loop starts a reader for each connection. The reader reads it and calls the
// listeners. The loop waits for the reader before it opens another connection or ends.
//
// The router is started by the first Listen in a cluster. It asks go-redis for the nodes of waiting
// slots and does the checks. It ends after all connection loops have ended; Close waits for it.
//
// There are no other goroutines. Each connection loop and the router have one timer. A channel, a
// slot and a listener cost memory only. While go-redis renews its map it has a goroutine of its own.
//
// # Locks
//
// Hub.mu guards the registries, the slots, and whether connection loops and router run. It is never
// held during I/O or while a listener is called. A listener's own mutex keeps the calls to it apart.
// The order is: the listener's, then the hub's.
//
// # When Redis answers late, twice or never
//
// Late: the channel stays unconfirmed and its listeners are told nothing; they poll meanwhile.
//
// Twice, or without a request: the connection is not in the state that the hub assumed, so it is
// replaced. In some cases go-redis reconnects a PubSub without telling its user, and this is how the
// hub notices. A sunsubscribe is different: a node may send it at any time. Redis answers in order.
// So a sunsubscribe is the answer to an SUNSUBSCRIBE if Redis has answered all that was sent before
// that command. Otherwise it ends the subscription if there is one, and else says nothing new. Both
// may cross: then the node's MOVED for the SUNSUBSCRIBE finds the command answered already, and says
// nothing new either.
//
// Never: go-redis does not notice a half-open connection. After Config.PingInterval of silence the
// connection loop sends a PING. When nothing at all has come Config.PingTimeout later, it replaces
// the connection. It also does so when a SUBSCRIBE or UNSUBSCRIBE is unanswered for the sum of both,
// whatever else arrives. Writes are limited by Config.PingTimeout. A stalled write may hold up the
// reader, since go-redis has one mutex for both, but no other goroutine. While a connection is being
// opened or a node is asked, the limits are the client's own DialTimeout, ReadTimeout and
// WriteTimeout. A client that has switched these off can keep the connection loop waiting for as long
// as the network does, and the router too while go-redis has no map at all.
//
// An error: the connection is replaced after a random delay of at most MinBackoff, doubled with each
// failure up to MaxBackoff. Outside a cluster a refusal (NOPERM) of a SUBSCRIBE is an error like any
// other. Redis refuses the whole command and does not say for which channel. So while a channel that
// is forbidden to the user has a listener, the hub reconnects every MaxBackoff or sooner, and all its
// other channels may hear nothing. In a cluster only the other channels of the same slot may. A
// refused PING is a sign of life.
package pubsub

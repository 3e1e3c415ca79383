// Package pubsub shares one Redis subscription connection among all the waiters
// of one client.
//
// A waiter calls [Hub.Listen] with a channel and a function, and is called when
// something is published there. Messages are hints and no more: Redis forgets a
// message that finds nobody subscribed, so a waiter must also look for itself
// after each [Subscribed] and each [Resubscribed], and now and then without
// being called at all.
//
// # States of a channel
//
// A channel is in the registry while somebody listens to it, for Config.Linger
// after the last listener has left (at most 1024 channels linger; above that
// the oldest goes at once), and then until Redis has answered the UNSUBSCRIBE.
//
// It is confirmed when the last command sent for it on the present connection
// was SUBSCRIBE and Redis has answered that. The next command is not sent
// before the last one was answered for every channel in it, so a channel has
// one answer to expect at most. A late answer to an UNSUBSCRIBE thus cannot
// pass for the loss of a newer subscription, nor the answer to an older
// SUBSCRIBE for the confirmation of a newer one.
//
// # Goroutines
//
// The manager is started by the first Listen. It owns the connection: it opens
// and closes it, and it alone writes to it. SUBSCRIBE, UNSUBSCRIBE and PING go
// out in its order, up to 500 channels in a command, for whatever the
// difference is between what is wanted and what was sent. It ends when no
// channel is wanted any more, or at Close. At most one manager runs at a time.
//
// The reader is started by the manager for each connection, reads it, and calls
// the listeners. The manager waits for it before it opens another connection or
// ends. There are no other goroutines, and one timer, the manager's; a channel
// and a listener cost memory only.
//
// # Locks
//
// Hub.mu guards the registry and whether a manager runs. It is never held
// during I/O or while a listener is called. A listener's own mutex keeps the
// calls to it apart. The order is: the listener's, then the hub's.
//
// # When Redis answers late, twice or never
//
// Late: the channel stays unconfirmed and its listeners are told nothing; they
// live on their own polling.
//
// Twice, or without having been asked: the connection is not in the state that
// was believed, so it is replaced. go-redis reconnects a PubSub behind its
// user's back in some cases, and that is how it is noticed.
//
// Never: go-redis does not notice a half-open connection. After
// Config.PingInterval of silence the manager sends a PING, and when nothing at
// all has come Config.PingTimeout later, it replaces the connection. It also
// does when a SUBSCRIBE or UNSUBSCRIBE is unanswered for the sum of both,
// whatever else arrives. Writes are limited by Config.PingTimeout; while one is
// stalled, the reader may be held up with it, since go-redis has one mutex for
// both, but nobody else. While a connection is being opened, the limits are the
// client's own DialTimeout, ReadTimeout and WriteTimeout: a client that has
// switched these off can keep the manager waiting for as long as the network
// does.
//
// An error: the connection is replaced after a random delay of at most
// MinBackoff, doubled with each failure up to MaxBackoff. A refusal (NOPERM) of
// a SUBSCRIBE is an error like any other. Redis refuses the whole command and
// does not say which channel it was for: while somebody listens to a channel
// that is forbidden to the user, the hub reconnects every MaxBackoff or sooner,
// and all its other channels may be deaf. A refused PING is a sign of life.
package pubsub

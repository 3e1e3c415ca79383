package lua

import "strings"

// Keys are the names of one lock in Redis, as one client uses them. All but the lock's
// own are made from it when they are needed: a client may hold very many locks.
type Keys struct {
	Lock   string // the lock's hash
	client string
}

// KeysOf returns the keys of the lock kept at key, for the client with that id.
func KeysOf(key, client string) Keys { return Keys{Lock: key, client: client} }

// Epoch is the key of this client's epoch.
func (k Keys) Epoch() string { return k.tagged("redlatch_epoch", ":"+k.client) }

// Turn is the key that keeps the free lock for the client that was woken.
func (k Keys) Turn() string { return k.tagged("redlatch_turn", "") }

// Waiters is the key of the registry of waiters.
func (k Keys) Waiters() string { return k.tagged("redlatch_waiters", "") }

// Token is the key of the fencing counter.
func (k Keys) Token() string { return k.tagged("redisson_lock_token", "") }

// Channel is common to all clients, those of Redisson too.
func (k Keys) Channel() string { return k.tagged("redisson_lock__channel", "") }

// Listeners is the channel of all Go clients, on which nothing is published: its
// subscribers count.
func (k Keys) Listeners() string { return k.tagged("redlatch_listeners", "") }

// Own is the channel of this client.
func (k Keys) Own() string { return k.tagged("redisson_lock__channel", ":"+k.client) }

// tagged is a name that is in the lock's slot.
func (k Keys) tagged(prefix, suffix string) string {
	if strings.Contains(k.Lock, "{") {
		return prefix + ":" + k.Lock + suffix // has its own hash tag: Redisson's prefixName
	}
	return prefix + ":{" + k.Lock + "}" + suffix
}

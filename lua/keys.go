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

// What the names of the other keys and of the channels begin with.
const (
	epochs    = "redlatch_epoch"
	turns     = "redlatch_turn"
	waiters   = "redlatch_waiters"
	tokens    = "redisson_lock_token"
	channels  = "redisson_lock__channel"
	listeners = "redlatch_listeners"
	clients   = "redlatch_client"
)

// Epoch is the key of this client's epoch.
func (k Keys) Epoch() string { return k.ours(epochs) + ":" + k.client }

// Turn is the key that keeps the free lock for the client that was woken.
func (k Keys) Turn() string { return k.ours(turns) }

// Waiters is the key of the registry of waiters.
func (k Keys) Waiters() string { return k.ours(waiters) }

// Token is the key of the fencing counter.
func (k Keys) Token() string { return k.tagged(tokens, "") }

// Channel is common to all clients, those of Redisson too.
func (k Keys) Channel() string { return k.tagged(channels, "") }

// Listeners is the channel of all Go clients, on which nothing is published: its
// subscribers count.
func (k Keys) Listeners() string { return k.tagged(listeners, "") }

// Own is the channel of this client.
func (k Keys) Own() string { return k.tagged(channels, ":"+k.client) }

// ClientKey is the key by which the client with that id is known by name, if it has one: it is no lock's, and
// begins as the others do that belong to the locks under the prefix.
func ClientKey(prefix, id string) string { return KeysOf(prefix+id, "").tagged(clients, "") }

// Reserved reports whether a lock kept at key could be taken for what belongs to another
// lock: its key begins as only such names do.
func Reserved(key string) bool {
	for _, kind := range []string{epochs, turns, waiters, tokens, channels, listeners, clients} {
		if rest, found := strings.CutPrefix(key, kind); found && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "{")) {
			return true
		}
	}
	return false
}

// ours is tagged for what only Go clients use. A name that is nothing but a hash tag
// has no colon: with one, "{a}" would share its keys with "a", as it does share the
// channel and the counter of Redisson, where it makes no difference.
func (k Keys) ours(kind string) string {
	if strings.HasPrefix(k.Lock, "{") && strings.HasSuffix(k.Lock, "}") {
		return kind + k.Lock
	}
	return k.tagged(kind, "")
}

// tagged is a name that is in the lock's slot.
func (k Keys) tagged(prefix, suffix string) string {
	if strings.Contains(k.Lock, "{") {
		return prefix + ":" + k.Lock + suffix // has its own hash tag: Redisson's prefixName
	}
	return prefix + ":{" + k.Lock + "}" + suffix
}

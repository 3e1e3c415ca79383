package lua

import "strings"

// Keys are the names of one lock in Redis, as one client uses them.
type Keys struct {
	Lock      string // the lock's hash
	Epoch     string // of this client
	Turn      string
	Waiters   string
	Token     string
	Channel   string // common to all clients, those of Redisson too
	Listeners string // channel of all Go clients, on which nothing is published: its subscribers count
	Own       string // the channel of this client
}

// KeysOf returns the keys of the lock kept at key, for the client with that id.
func KeysOf(key, client string) Keys {
	tagged := ":{" + key + "}"
	if strings.Contains(key, "{") {
		tagged = ":" + key // has its own hash tag: Redisson's prefixName
	}
	channel := "redisson_lock__channel" + tagged
	return Keys{
		Lock:      key,
		Epoch:     "redlatch_epoch" + tagged + ":" + client,
		Turn:      "redlatch_turn" + tagged,
		Waiters:   "redlatch_waiters" + tagged,
		Token:     "redisson_lock_token" + tagged,
		Channel:   channel,
		Listeners: "redlatch_listeners" + tagged,
		Own:       channel + ":" + client,
	}
}

package lua

import "strings"

// Keys are the names of one lock in Redis, as one client uses them. All but the lock's own are made
// from it when they are needed: a client may hold very many locks.
type Keys struct {
	Lock   string // the lock's hash
	client string
	rw     bool // of a read-write lock: Redisson has another channel for that
	fair   bool // of a fair lock
}

// KeysOf returns the keys of the lock kept at key, for the client with that id.
func KeysOf(key, client string) Keys { return Keys{Lock: key, client: client} }

// RWKeysOf returns the keys of the read-write lock kept at key, for the client with that id.
func RWKeysOf(key, client string) Keys { return Keys{Lock: key, client: client, rw: true} }

// FairKeysOf returns the keys of the fair lock kept at key, for the client with that id.
func FairKeysOf(key, client string) Keys { return Keys{Lock: key, client: client, fair: true} }

// Fair reports whether the keys are of a fair lock.
func (k Keys) Fair() bool { return k.fair }

// ReadWrite reports whether the keys are of a read-write lock.
func (k Keys) ReadWrite() bool { return k.rw }

// A kind is the beginning of the name of another key or of a channel.
type kind string

const (
	epochs    kind = "redlatch_epoch"
	turns     kind = "redlatch_turn"
	waiters   kind = "redlatch_waiters"
	tokens    kind = "redisson_lock_token"
	channels  kind = "redisson_lock__channel"
	listeners kind = "redlatch_listeners"
	clients   kind = "redlatch_client"

	// own stands for a client's own channel, which begins as the common one does.
	own kind = "own"

	// grants stands for a key that begins as the epochs do, and so does line.
	grants kind = "grants"
	line   kind = "line"

	// rwChannels is what the channels of a read-write lock begin with. readers and barriers stand for keys that begin
	// as the registry of waiters and the turns do, so that a Redis user who may lock needs no further right.
	rwChannels kind = "redisson_rwlock"
	readers    kind = "readers"
	barriers   kind = "barrier"

	// Who waits for a fair lock.
	queues   kind = "redisson_lock_queue"
	timeouts kind = "redisson_lock_timeout"
)

// Epoch is the key of this client's epoch.
func (k Keys) Epoch() string { return k.one(epochs) }

// Turn is the key that keeps the free lock for the client that was woken.
func (k Keys) Turn() string { return k.one(turns) }

// Grants is the key of what a release needs to grant the lock to a registered client. It begins as the
// epochs do, so that a Redis user who may lock needs no further right. It is no client's epoch: a client's
// ID is a UUID.
func (k Keys) Grants() string { return k.one(grants) }

// Queue is the key of the line of those who wait for a fair lock.
func (k Keys) Queue() string { return k.one(queues) }

// Timeouts is the key that says when Redisson may drop who waits for a fair lock.
func (k Keys) Timeouts() string { return k.one(timeouts) }

// Line is the key of what else is known of the line of a fair lock. It begins as the epochs do, as the key of grants.
func (k Keys) Line() string { return k.one(line) }

// Waiters is the key of the registry of waiters.
func (k Keys) Waiters() string { return k.one(waiters) }

// Token is the key of the fencing counter.
func (k Keys) Token() string { return k.one(tokens) }

// Channel is the channel of all clients, Redisson's too.
func (k Keys) Channel() string { return k.one(channels) }

// Listeners is the channel of all Go clients. Nothing is published on it: its subscribers are
// counted.
func (k Keys) Listeners() string { return k.one(listeners) }

// Readers is the key of the registry of clients that wait to read.
func (k Keys) Readers() string { return k.one(readers) }

// Barrier is the key that bars further readers while a writer waits.
func (k Keys) Barrier() string { return k.one(barriers) }

// Marker is the key that lives as long as a reader does. Redisson names it so, and has one for each of a
// reader's holds.
func (k Keys) Marker(field string) string { return k.markers() + field + firstMarker }

const (
	markerInfix = ":rwlock_timeout:"
	firstMarker = markerInfix + "1"
)

// markers is what the markers of all readers begin with, as by Redisson's suffixName.
func (k Keys) markers() string {
	if strings.Contains(k.Lock, "{") {
		return k.Lock + ":"
	}
	return "{" + k.Lock + "}:"
}

// Own is the channel of this client.
func (k Keys) Own() string { return k.one(own) }

// ClientKey is the key of the name that the client with that id has given itself, if it has one. The
// key belongs to no lock, and begins as the keys of the locks under the prefix do.
func ClientKey(prefix, id string) string { return KeysOf(prefix+id, "").one(clients) }

// Reserved reports whether a lock kept at key could be taken for a key or channel that belongs to
// another lock: its key begins as only these names do, or is named as the marker of a reader.
func Reserved(key string) bool {
	for _, kind := range []kind{epochs, turns, waiters, tokens, channels, listeners, clients, rwChannels, queues, timeouts} {
		if rest, found := strings.CutPrefix(key, string(kind)); found && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "{")) {
			return true
		}
	}
	return strings.Contains(key, markerInfix)
}

// several returns the names of at most six kinds, in their order. They share one allocation: the
// commands of one acquisition and release use nine names.
func (k Keys) several(kinds ...kind) (names [6]string) {
	size := 0
	for _, kind := range kinds {
		size += len(kind) + len(":{}") + len(k.Lock)
		switch kind {
		case own, epochs:
			size += len(channels) + len(":") + len(k.client)
		case grants, line:
			size += len(epochs) + len(":")
		case readers, barriers:
			size += len(waiters) + len(":")
		}
	}
	var all strings.Builder
	all.Grow(size)
	var ends [len(names)]int
	for i, kind := range kinds {
		k.write(&all, kind)
		ends[i] = all.Len()
	}
	begin := 0
	for i := range kinds {
		names[i] = all.String()[begin:ends[i]]
		begin = ends[i]
	}
	return names
}

func (k Keys) one(kind kind) string { return k.several(kind)[0] }

// write adds one name, which is in the lock's slot. If the lock has a hash tag, the name has it too,
// as with Redisson's prefixName.
//
// A lock that is nothing but a hash tag has no colon in the names that only Go clients use: with one,
// "{a}" would share its keys with "a". With Redisson's own names it does share the channel and the
// counter with "a", where that makes no difference.
func (k Keys) write(to *strings.Builder, kind kind) {
	suffix := ""
	switch kind {
	case own:
		kind, suffix = channels, k.client
	case grants, line:
		kind, suffix = epochs, string(kind)
	case readers:
		kind, suffix = waiters, string(readers)
	case barriers:
		kind, suffix = turns, string(barriers)
	case epochs:
		suffix = k.client
	}
	if kind == channels && k.rw {
		kind = rwChannels
	}
	to.WriteString(string(kind))
	switch ours := kind == epochs || kind == turns || kind == waiters; {
	case ours && strings.HasPrefix(k.Lock, "{") && strings.HasSuffix(k.Lock, "}"):
		to.WriteString(k.Lock)
	case strings.Contains(k.Lock, "{"):
		to.WriteString(":")
		to.WriteString(k.Lock)
	default:
		to.WriteString(":{")
		to.WriteString(k.Lock)
		to.WriteString("}")
	}
	if suffix != "" {
		to.WriteString(":")
		to.WriteString(suffix)
	}
}

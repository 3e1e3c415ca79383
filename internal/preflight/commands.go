package preflight

import (
	"strings"

	"github.com/redlatch/redlatch/lua"
)

// What happens without a permission. The words are those of the errors and of SECURITY.md.
const (
	noScripts  = "no script is run"
	noGrant    = "no lock is granted"
	noNesting  = "no lock is entered again, nor taken while others wait for it"
	noEpoch    = "no lock is granted after a command that was not answered, nor WithFencing"
	noRenewal  = "no lock is renewed: it is lost in the middle of the work"
	noRelease  = "no lock is released: it stays taken until its lease ends"
	noQueue    = "a lock that is taken is an error, and nobody can wait for it"
	noMessage  = "who waits is not woken, but tries by itself, every second at first, later every 5 s"
	noForce    = "ForceUnlock fails"
	noTransfer = "a lock is not handed over inside a Client: every release goes through Redis"
	noTurns    = "a Client does not see that others wait, and goes on handing over inside"
	noTelling  = "who waits does not hear of ReleaseAfter, and tries by itself, up to 5 s late"
	noLeave    = "who has given up waiting is woken all the same, for a minute"
	noCounting = "clients of Redisson that wait are not counted, and get fewer turns"
	noEnd      = "the subscription breaks, and is made anew, whenever a wait is over"
	noSharding = "sharded pub/sub is not used: who waits is not woken by those that use it"
	noAsking   = "no lock is renewed whose slot is being moved"
	noFencing  = "WithFencing grants no lock"
	noReplicas = "WithReplicaAcks grants no lock"
	noNaming   = "Inspect shows the Client's ID and not what WithClientName says"
	noRead     = "no read-write lock is taken for reading, or released"
	noFair     = "nobody can wait for a fair lock"
	noDrop     = "a waiter of a fair lock that has died keeps all others from it"
	noPolicy   = "it is not known whether Redis may evict locks"
)

// aclCommand is one command that is refused if the user lacks a permission, and otherwise
// fails or finds nothing. It never writes.
type aclCommand struct {
	without  string
	required bool
	args     []any
}

// keyCommands are those of what all scripts together do with one kind of key.
type keyCommands struct {
	key      string
	kind     string // what its name begins with; empty for the lock's own
	without  string // if the user has no right to such keys
	required bool
	trials   []aclCommand
}

// commandsOf lists what the scripts do with the keys of a lock. A command that could write is
// given arguments that it refuses, which it does after Redis has looked at the permissions.
func commandsOf(k *lua.Keys, fencing bool) []keyCommands {
	lock, epoch, turn, waiters, token := k.Lock, k.Epoch(), k.Turn(), k.Waiters(), k.Token()
	all := []keyCommands{
		{lock, "", noGrant, true, []aclCommand{
			{noGrant, true, []any{"exists", lock}},
			{noGrant, true, []any{"hset", lock, field, "1", field}}, // a field without a value
			{noGrant, true, []any{"pexpire", lock, 1}},              // of a key that is not there
			{noRenewal, true, []any{"hexists", lock, field}},
			{noRenewal, true, []any{"pttl", lock}},
			{noRelease, true, []any{"hdel", lock, field}},
			{noQueue, true, []any{"hget", lock, field}},
			{noQueue, true, []any{"hkeys", lock}},
			{noQueue, true, []any{"time"}},
			{noTransfer, false, []any{"hmget", lock, field, field}},
			{noForce, false, []any{"hlen", lock}},
			{noForce, false, []any{"del", lock}},
		}},
		{epoch, "redlatch_epoch:", noGrant, true, []aclCommand{
			{noNesting, true, []any{"get", epoch}},
			{noEpoch, true, []any{"set", epoch, "0", "px", 0}}, // an expiry of 0
		}},
		{turn, "redlatch_turn:", noGrant, true, nil},
		{waiters, "redlatch_waiters:", noGrant, true, []aclCommand{
			{noQueue, true, []any{"zadd", waiters, "nx", "xx", 0, field}}, // not both
			{noQueue, true, []any{"zscore", waiters, field}},
			{noQueue, true, []any{"zrank", waiters, field}},
			{noMessage, false, []any{"zpopmin", waiters}},
			{noTurns, false, []any{"zcard", waiters}},
			{noTelling, false, []any{"zrange", waiters, 0, 0}},
			{noLeave, false, []any{"zrem", waiters, field}},
		}},
		{token, "redisson_lock_token:", noFencing, fencing, nil},
	}
	switch {
	case k.ReadWrite():
		return append(all, readWriteCommands(k)...)
	case k.Fair():
		return append(all, fairCommands(k)...)
	}
	return all
}

const field = "f" // of a hash, or a member of something else

func readWriteCommands(k *lua.Keys) []keyCommands {
	return []keyCommands{
		{k.Readers(), "redlatch_waiters:", noGrant, true, []aclCommand{
			{noQueue, true, []any{"zrem", k.Readers(), field}},
		}},
		{k.Barrier(), "redlatch_turn:", noGrant, true, nil},
		{k.Marker(field), markers, noRead, true, []aclCommand{
			{noRead, true, []any{"del", k.Marker(field)}},
		}},
	}
}

// fairCommands does not try LPUSH and RPUSH: whatever they are given that is not refused they write.
func fairCommands(k *lua.Keys) []keyCommands {
	queue, timeouts := k.Queue(), k.Timeouts()
	return []keyCommands{
		{queue, "redisson_lock_queue:", noFair, true, []aclCommand{
			{noFair, true, []any{"llen", queue}},
			{noFair, true, []any{"lindex", queue, 0}},
			{noFair, true, []any{"lrange", queue, 0, 0}},
			{noFair, true, []any{"lrem", queue, 0, field}},
			{noFair, true, []any{"linsert", queue, "nowhere", field, field}},
			{noDrop, true, []any{"lpop", queue, -1}}, // less than nothing
		}},
		{timeouts, "redisson_lock_timeout:", noFair, true, []aclCommand{
			{noFair, true, []any{"zrem", timeouts, field}},
			{noFair, true, []any{"del", timeouts}},
		}},
	}
}

// markers stands for the keys of readers, which begin with the lock's name in braces.
const markers = "{"

// Rule is what a user has to be given for the keys or channels of one kind of all locks under the
// prefix. lock is the key of one of them; kind is what such names begin with, empty for the lock's own.
func Rule(prefix, lock, sign, kind string) string {
	p := lua.Literal(prefix) + "*"
	if kind != "" && !strings.Contains(lock, "{") {
		p = "{" + p // the hash tag that such names are given
	}
	if kind == markers {
		return sign + p
	}
	return sign + kind + p
}

func (t *Target) rule(sign, kind string) string { return Rule(t.Prefix, t.Keys.Lock, sign, kind) }

// nameRule is rule for the keys that say what Clients call themselves.
func (t *Target) nameRule() string {
	p := lua.Literal(t.Prefix) + "*"
	if !strings.Contains(t.Prefix, "{") {
		p = "{" + p
	}
	return "~redlatch_client:" + p
}

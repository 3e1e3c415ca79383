package reentrant

import (
	"context"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// kind is a kind of lock: with whom an owner shares it, and how it is kept in Redis. It has no state, and
// is the same for all Clients. Everything else (the wait queue, hand-off, renewal, losses, events) is the
// same for all kinds.
//
// A lock name of a Client has a lock state for each kind. Renewal is no part of a kind: one script renews
// the fields of all locks of a Client.
type kind struct {
	name   string
	number int  // from 0
	lines  bool // who waits stands in a line in Redis (line.go), and not in the registry of waiters
	protocol

	// twoModes: the lock is taken in either mode, and an owner has a field for each. Otherwise all owners are Exclusive.
	twoModes bool
}

// protocol is how a kind of lock is kept in Redis: its keys, its channels, and one script for each verb.
// The scripts' headers (package lua) say what each does, and what it does if it is run twice or late.
type protocol interface {
	keys(key, client string) lua.Keys
	ownChannel(k *lua.Keys) string // a release wakes this Client on it
	// Redisson publishes its releases on the common channel. By the subscribers of the other one a release
	// knows how many of the common channel's are Go clients.
	commonChannel(k *lua.Keys) (common, listeners string)

	acquire(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Acquire) (lua.Granted, error)
	count(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Count) (lua.Verdict, error)
	transfer(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Transfer) (lua.Granted, error)
	release(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Release) (v lua.Verdict, epochSet bool, err error)
	linger(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Linger) (v lua.Verdict, epochSet bool, err error)

	// These begin to send an acquire or a release, and return nil if they do not (launch.go).
	launchAcquire(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Acquire) *lua.Flight
	launchRelease(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Release) *lua.Flight

	leave(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Leave) (lua.Verdict, error)
	// force ends all holds in the mode, or the one that has the field holder, if that is not empty.
	force(ctx context.Context, p lua.Processor, k *lua.Keys, mode lockstate.Mode, holder string, wake lua.Wake) (freed bool, err error)
	inspect(ctx context.Context, p lua.Processor, k *lua.Keys, owner string) (lua.Inspection, error)
	report(ctx context.Context, p lua.Processor, k *lua.Keys, wake lua.Wake, fencing bool) (lua.Report, error)
}

// lockStates are the lock states of a Client, by kind and name. A map for each kind: one map with both in its key
// would cost a write-behind hand-off 2 %.
type lockStates [kinds]map[string]*lockState

// kinds is how many kinds there are.
const kinds = 3

package preflight

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// Target is a lock that is looked at, and the server that has it.
type Target struct {
	Node     redis.UniversalClient // of that server
	Keys     lua.Keys              // of the lock
	Prefix   string                // which the names of all locks begin with
	NameKey  string                // like the key that has the Client's name; empty if it has none
	Fencing  bool                  // the lock has fencing tokens
	Cluster  bool                  // the server is of a Cluster
	Sharded  bool                  // sharded pub/sub is wanted
	Replicas bool                  // grants wait for replicas
}

// Denial is a permission that is missing.
type Denial struct {
	Rule     string // what ACL SETUSER has to be given
	Without  string // what happens without it
	Required bool   // locks do not work without it
	Err      error  // Redis' refusal
}

// Eviction is a setting by which Redis may evict locks.
type Eviction struct {
	Policy    string // maxmemory-policy
	MaxMemory int64  // maxmemory, bytes
}

// Findings are what Run has found.
type Findings struct {
	Denials  []Denial  // in the order in which they were found, each Rule once
	Eviction *Eviction // nil if locks cannot be evicted, or if that is not known
}

// Run looks at a target step by step. Before each step it asks whether the caller has given up,
// and then it ends. The error is that of a server which did not answer: the findings are those
// of the steps before.
func Run(ctx context.Context, t Target, givenUp func() bool) (Findings, error) {
	p := probe{Target: t, told: make(map[string]bool)}
	for _, step := range []func(context.Context) error{p.scripts, p.keys, p.name, p.messages, p.subscriptions, p.memory} {
		if givenUp() {
			break
		}
		if err := step(ctx); err != nil {
			return p.found, err
		}
	}
	return p.found, nil
}

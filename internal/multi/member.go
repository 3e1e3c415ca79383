// Package multi is the contract between a lock over several others, which package multilock makes, and the
// locks that it is made of. Programs see none of it: they pass locks to multilock.
package multi

import (
	"context"
	"time"
)

// Member is what a lock over several others needs of each of them. The Member method of a lock returns its own.
type Member interface {
	// Name returns the lock's name.
	Name() string

	// Parts returns the single locks that the member consists of, always in the same
	// order: one, unless it is a lock over several servers itself.
	Parts() []Part

	// Lease returns the lease of holds that are renewed, the longest of the parts'.
	Lease() time.Duration

	// Delay returns how long a grant may take by configuration, beside what the
	// network takes: the timeout of WithReplicaAcks.
	Delay() time.Duration

	// Servers asks every server that the member must not be forgotten by who it is.
	// None means that the member survives a server that forgets.
	Servers(ctx context.Context) ([]Server, error)

	// Take takes the member for the owner of ctx as Acquire does. It returns soon after
	// ctx has ended, whatever Redis does, and gives back what is granted later. The Tenure
	// does not end with ctx. An error that is ErrBusy says that the member was another
	// owner's.
	Take(ctx context.Context, terms Terms) (Tenure, error)
}

// Part names one lock on one server. Two parts of the same Client and Key are the same
// lock; of the same Key and Server as well, if their addresses are written alike.
type Part struct {
	Server string // its address as the redis client has it; a cluster's addresses, sorted
	Key    string // in Redis
	Client string // the Client's ID
}

// Same reports whether both are the same lock of the same Client.
func (p Part) Same(q Part) bool { return p.Client == q.Client && p.Key == q.Key }

// Server is a Redis server as it describes itself.
type Server struct {
	RunID  string        // another one after each start
	Uptime time.Duration // since the start, to about a second
}

// Terms are what the options of one acquisition set.
type Terms struct {
	Limited bool          // Wait is the limit
	Wait    time.Duration // 0 or less: a single attempt
	Lease   time.Duration // never renewed; 0: renewed, with the Client's lease
}

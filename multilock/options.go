package multilock

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// maxLimit is the most that the default of [WithMemberLimit] gives a member, beside
// the time that it takes by configuration.
const maxLimit = time.Second

// maxLongest is the longest that a lease can be: 100 years.
const maxLongest = 100 * 365 * 24 * time.Hour

// Option configures a [MultiLock].
type Option func(*config) error

type config struct {
	quorum  bool
	limit   time.Duration // for one answer of one member
	lease   time.Duration // the longest of the members' Clients
	longest time.Duration // lease that any client may have on a member
	prove   bool          // servers have to show that they cannot have forgotten a lock
	tick    time.Duration // between two rounds of maintenance
}

// WithMemberLimit limits how long one member may take for each answer in an attempt: to
// grant the lock, and in a quorum to say who its server is. A member that takes longer
// counts as failed, and is freed in the background. The limit is at least 1 ms and below
// the shortest lease of the members. It should be far below that and well above the
// slowest answer of a sound server. The default is a tenth of that lease, at most 1 s,
// and more for members that wait for replicas.
func WithMemberLimit(limit time.Duration) Option {
	return func(c *config) error {
		c.limit = limit
		if limit < time.Millisecond {
			return fmt.Errorf("%w: member limit %v, must be at least 1ms", reentrant.ErrInvalidOption, limit)
		}
		return nil
	}
}

// WithLongestLease says what the longest lease is that any client of any process takes
// on a member of this quorum. A server that was started less than this ago, and a
// little for clocks, may have forgotten a lock that somebody still trusts, and is not
// counted. All processes must agree on it. The default is the longest lease of the
// members' Clients: give it, up to 100 years, when Clients in other processes have other leases.
//
// It is also how long a member is trusted without a word from its server about who it
// is, so that a longer lease, a fixed one for example, does no harm.
func WithLongestLease(lease time.Duration) Option {
	return func(c *config) error {
		if !c.quorum {
			return fmt.Errorf("%w: the longest lease matters to a quorum only", reentrant.ErrInvalidOption)
		}
		if lease > maxLongest {
			return fmt.Errorf("%w: longest lease %v, must be at most %v", reentrant.ErrInvalidOption, lease, maxLongest)
		}
		c.longest = lease
		return nil
	}
}

// WithoutQuarantine is unsafe after a restart. It counts servers whatever they are, and
// does not ask them: one that was restarted without its data is taken for one that
// knows its locks, and two owners can hold a quorum at the same time.
//
// It is for the first deployment, when all servers are new, nobody can hold a lock and
// nobody wants to wait for one lease; for servers that keep every write over a restart
// (appendfsync always); and for servers that do not answer INFO. Take it out again.
//
// In a quorum that is a member of another one it makes that other ask all servers of this
// one, which then does not survive a server of its own any more.
func WithoutQuarantine() Option {
	return func(c *config) error {
		if !c.quorum {
			return fmt.Errorf("%w: there is no quarantine but in a quorum", reentrant.ErrInvalidOption)
		}
		c.prove = false
		return nil
	}
}

func newConfig(members []*member, quorum bool, opts []Option) (config, error) {
	shortest, longest, delay := members[0].Lease(), time.Duration(0), time.Duration(0)
	for _, m := range members {
		shortest = min(shortest, m.Lease())
		longest = max(longest, m.Lease())
		delay = max(delay, m.Delay())
	}
	c := config{
		quorum:  quorum,
		limit:   max(min(min(shortest/10, maxLimit)+delay, shortest/2), time.Millisecond),
		lease:   longest,
		longest: longest,
		prove:   quorum,
		tick:    max(shortest/3, time.Millisecond),
	}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return c, err
		}
	}
	if c.limit >= shortest {
		return c, fmt.Errorf("%w: member limit %v, must be below the shortest lease %v", reentrant.ErrInvalidOption, c.limit, shortest)
	}
	if c.longest < longest {
		return c, fmt.Errorf("%w: the longest lease %v is less than that of a member, %v", reentrant.ErrInvalidOption, c.longest, longest)
	}
	return c, nil
}

// quarantine is how long a server is not counted after its start. Its uptime comes in
// whole seconds, which is allowed for elsewhere.
func (c *config) quarantine() time.Duration { return c.longest + watchdog.Drift(c.longest) }

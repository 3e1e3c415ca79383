package multilock

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// maxLimit is the most that the default of [WithMemberLimit] gives a member, on top of the time that
// it takes by configuration.
const maxLimit = time.Second

// maxLongest is the longest that a lease can be: 100 years.
const maxLongest = 100 * 365 * 24 * time.Hour

// Option configures a [MultiLock].
type Option func(*config) error

type config struct {
	quorum  bool
	limit   time.Duration // for one answer of one member
	lease   time.Duration // the longest of the members' Clients
	longest time.Duration // the longest lease that any client may have on a member
	prove   bool          // servers must show that they cannot have forgotten a lock
	tick    time.Duration // between two maintenances of a hold
}

// WithMemberLimit limits how long one member may take for each answer in an attempt: to grant the
// lock, and in a quorum to say who its server is. A member that takes longer counts as failed, and is
// freed in the background. The limit is at least 1 ms and below the shortest lease of the members. It
// should be far below that lease and well above the slowest answer of a sound server. The default is
// a tenth of that lease, at most 1 s, and more for members that wait for replicas.
func WithMemberLimit(limit time.Duration) Option {
	return func(c *config) error {
		c.limit = limit
		if limit < time.Millisecond {
			return fmt.Errorf("%w: member limit %v, must be at least 1ms", reentrant.ErrInvalidOption, limit)
		}
		return nil
	}
}

// WithLongestLease sets the longest lease that any client of any process takes on a member of this
// quorum. A server that was started less than this time ago, and a little more for clocks, is not
// counted: it may have forgotten a lock that its owner still trusts. All processes must agree on the
// value. The default is the longest lease of the members' Clients: set the option, up to 100 years,
// when Clients in other processes have other leases.
//
// It is also how long a member is trusted without an answer from its server about who it is. So a
// longer lease, a fixed one for example, does no harm.
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

// WithoutQuarantine is unsafe after a restart. The quorum then counts every server and asks none who
// it is. A server that was restarted without its data is taken for one that knows its locks, and two
// owners can hold a quorum at the same time.
//
// It is for the first deployment, when all servers are new, nobody can hold a lock and nobody wants
// to wait for one lease. It is also for servers that keep every write over a restart (appendfsync
// always), and for servers that do not answer INFO. Take it out again.
//
// If the quorum is a member of another quorum, the outer one has to ask all servers of this one. This
// one then does not survive the loss of a server of its own any more.
func WithoutQuarantine() Option {
	return func(c *config) error {
		if !c.quorum {
			return fmt.Errorf("%w: there is no quarantine but in a quorum", reentrant.ErrInvalidOption)
		}
		c.prove = false
		return nil
	}
}

// newConfig derives the defaults from the members' leases, and then applies and checks the options.
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
		return c, fmt.Errorf("%w: the longest lease %v is less than the lease of a member, %v", reentrant.ErrInvalidOption, c.longest, longest)
	}
	return c, nil
}

// quarantine is how long a server is not counted after its start. An uptime comes in whole seconds;
// checkServer allows for that.
func (c *config) quarantine() time.Duration { return c.longest + watchdog.Drift(c.longest) }

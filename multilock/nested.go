package multilock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// Member is how another MultiLock uses this one. Programs pass it the MultiLock itself.
func (l *MultiLock) Member() multi.Member { return (*multiMember)(l) }

type multiMember MultiLock

func (m *multiMember) Name() string { return m.name }

func (m *multiMember) Parts() []multi.Part {
	parts := make([]multi.Part, m.parts)
	for _, inner := range m.members {
		copy(parts[inner.first:], inner.Parts())
	}
	return parts
}

func (m *multiMember) Lease() (longest time.Duration) {
	for _, inner := range m.members {
		longest = max(longest, inner.Lease())
	}
	return longest
}

// Delay is three times the members' limit: one may be silent, one must be checked, and what was
// granted may have to be given back.
func (m *multiMember) Delay() time.Duration { return 3 * m.cfg.limit }

// Servers returns the servers of all members. It returns none for a quorum: a quorum survives that
// one of its servers forgets, since it checks them itself. A quorum without quarantine does not
// check. Then an outer quorum has to ask all of its servers, and counts it only while all of them
// answer.
func (m *multiMember) Servers(ctx context.Context) ([]multi.Server, error) {
	if m.quorum && m.cfg.prove {
		return nil, nil
	}
	answers := make([][]multi.Server, len(m.members))
	errs := make([]error, len(m.members))
	var asked sync.WaitGroup
	for i, inner := range m.members {
		asked.Go(func() { answers[i], errs[i] = inner.Servers(ctx) })
	}
	asked.Wait()
	var servers []multi.Server
	for _, answer := range answers {
		servers = append(servers, answer...)
	}
	return servers, errors.Join(errs...)
}

func (m *multiMember) Take(ctx context.Context, terms multi.Terms) (multi.Tenure, error) {
	h, err := (*MultiLock)(m).acquire(ctx, terms, forOuter)
	if err != nil {
		return nil, err
	}
	return multiTenure{h}, nil
}

// multiTenure is a Hold as its outer lock sees it.
type multiTenure struct {
	*Hold
}

func (t multiTenure) Owners() []string { return t.owners() }

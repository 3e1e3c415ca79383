package multilock

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

// duplicates looks for two members that are one lock on one server, reached through two Clients. The
// member that is granted first then keeps the other busy. It does not if they are in two databases of
// the server, but such members are not independent either.
func duplicates(holds []memberHold) error {
	for i := range holds {
		if err := ownRival(holds, &holds[i]); err != nil {
			return err
		}
	}
	return sameServer(holds)
}

// sameServer finds two members of the same name with the same server.
func sameServer(holds []memberHold) error {
	type lock struct{ key, runs string }
	seen := make(map[lock]*member)
	for i := range holds {
		g := &holds[i]
		if !g.held() || g.proof.runs == "" || g.m.parts != 1 {
			continue
		}
		is := lock{g.m.place.key, g.proof.runs}
		if other := seen[is]; other != nil {
			return fmt.Errorf("%w: %q on %s and on %s is one lock on one server", ErrMembers, g.m.Name(), other.server, g.m.server)
		}
		seen[is] = g.m
	}
	return nil
}

// ownRival returns an error if another member of the same attempt holds the lock that makes this
// member busy.
func ownRival(holds []memberHold, busy *memberHold) error {
	var rival *reentrant.NotAcquiredError
	if !busy.busy() || !errors.As(busy.err, &rival) || rival.Holder == "" {
		return nil
	}
	for i := range holds {
		g := &holds[i]
		if g == busy || !g.held() || !shareKey(g.m, busy.m, rival.Holder) {
			continue
		}
		for _, owner := range g.tenure.Owners() {
			if owner == rival.Holder {
				return fmt.Errorf("%w: %q on %s and on %s is one lock on one server", ErrMembers, g.m.Name(), g.m.server, busy.m.server)
			}
		}
	}
	return nil
}

// shareKey reports whether two members have a key in common that the first one takes through the
// holder's Client. A member may be a lock of several parts.
func shareKey(a, b *member, holder string) bool {
	return slices.ContainsFunc(a.Parts(), func(p multi.Part) bool {
		return strings.HasPrefix(holder, p.Client+":") &&
			slices.ContainsFunc(b.Parts(), func(q multi.Part) bool { return p.Key == q.Key })
	})
}

package oracle

import (
	"slices"

	"github.com/redlatch/redlatch/internal/history"
)

// Tokens finds fencing tokens that do not rise from one holder to the next, or that
// change on re-entry. Holds without a token, or whose token is not known, are passed over. Tokens rise even where Redis
// has forgotten the lock. highest has what was issued before this history, by lock, and
// is brought up to date; it may be nil.
func Tokens(h history.History, highest map[string]int64) (found []Violation) {
	inOrder(holds(h.Ops), func(lock string, list []*hold) {
		list = slices.DeleteFunc(list, func(h *hold) bool { return h.token == 0 })
		last := make(map[string]*hold) // of each owner, the one before
		over := make(map[string]history.Instant)
		var top *hold // the one with the highest token so far
		for _, b := range list {
			switch a := last[b.owner]; {
			case b.token <= highest[lock]:
				found = append(found, violated("tokens", lock, "%v: not above %d of an earlier history", b, highest[lock]))
			case a != nil && b.from < a.until && a.trusted() && b.token != a.token:
				found = append(found, violated("tokens", lock, "%v: not the token of %v, which it re-enters", b, a))
			case a != nil && b.call <= over[b.owner] && b.token == a.token:
				// It re-entered, or may have.
			case top != nil && b.token <= top.token && after(h.Faults, top, b):
				found = append(found, violated("tokens", lock, "%v: not above that of %v, which came before", b, top))
			}
			if a := last[b.owner]; a != nil && a.token == b.token {
				over[b.owner] = max(over[b.owner], b.over) // one tenure, with several holds
			} else {
				over[b.owner] = b.over
			}
			last[b.owner] = b
			if top == nil || b.token > top.token {
				top = b
			}
		}
		if top != nil && highest != nil {
			highest[lock] = max(highest[lock], top.token)
		}
	})
	return found
}

// after reports whether b was certainly granted after a.
//
// It was if b was called after a had returned. Otherwise the grants are in the order in
// which they arrived, since b's is later than the end of a's trust, or else the two would
// overlap; but a grant that arrives too late to be trusted may be older than it looks, and
// so may one that was on its way while Redis forgot the lock.
func after(faults []history.Fault, a, b *hold) bool {
	if b.call > a.from {
		return true
	}
	if !a.trusted() || !b.trusted() {
		return false
	}
	return !slices.ContainsFunc(faults, func(f history.Fault) bool {
		return forgets(f, a.lock) && f.Touches(a.call, a.from)
	})
}

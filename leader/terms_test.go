package leader_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// span is a time, by the clock of this machine.
type span struct{ from, to time.Time }

// touches reports whether the two have an instant in common.
func (s span) touches(o span) bool { return !s.from.After(o.to) && !o.from.After(s.to) }

// termSeen is a term as its leader saw it: from is the end of its first look that said yes, and to the beginning of the last
// one. In between it led all the time. After a single look to is before from: the look was between the two.
type termSeen struct {
	span
	who   string
	token int64
	looks int
}

func (t *termSeen) String() string {
	const clock = "05.000000"
	return fmt.Sprintf("%s in term %d from %s to %s", t.who, t.token, t.from.Format(clock), t.to.Format(clock))
}

// forgetting is a time in which Redis forgot the lock. A leader of then may believe until its lease is over.
type forgetting struct {
	span
	lease time.Duration
}

// claim is for how long a grant is valid of which its leader need not have heard when Redis forgot it (docs/guarantees.md).
const claim = 3 * time.Second

// excuses reports whether a may be a leader that Redis had forgotten when it let b lead.
func (f forgetting) excuses(a, b *termSeen) bool {
	end := f.to.Add(max(f.lease, claim))
	return !a.from.After(end) && !a.to.After(end) && !b.from.Before(f.from)
}

// judge finds two that led at the same instant, and tokens that do not rise, but for what a forgetting excuses. Both are one
// rule: who has the lower token was granted the lock before, and its last look comes before the other's first look.
func judge(terms []*termSeen, forgettings []forgetting) (found []string) {
	for i, a := range terms {
		for _, b := range terms[:i] {
			low, high := a, b
			if low.token > high.token {
				low, high = high, low
			}
			excused := slices.ContainsFunc(forgettings, func(f forgetting) bool { return f.excuses(low, high) })
			switch {
			case low.token == high.token:
				found = append(found, fmt.Sprintf("one token: %v, %v", low, high))
			case low.to.After(high.from) && !excused:
				found = append(found, fmt.Sprintf("two leaders, or a token that does not rise: %v, %v", low, high))
			}
		}
	}
	return found
}

// The oracle is not blind, and excuses nothing but what a forgetting explains.
func TestJudge(t *testing.T) {
	began := time.Now()
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	term := func(who string, token int64, from, to float64) *termSeen {
		return &termSeen{span: span{at(from), at(to)}, who: who, token: token}
	}
	forgot := []forgetting{{span{at(10), at(11)}, 4 * time.Second}}
	for name, play := range map[string]struct {
		terms  []*termSeen
		wrong  bool // without a forgetting
		really bool // with it
	}{
		"one after the other":               {terms: []*termSeen{term("a", 1, 0, 5), term("b", 2, 5, 9)}},
		"within the other":                  {[]*termSeen{term("a", 1, 0, 5), term("b", 2, 3, 4)}, true, true},
		"a look within the other":           {[]*termSeen{term("a", 1, 0, 5), term("b", 2, 3.1, 3)}, true, true},
		"a long look":                       {terms: []*termSeen{term("a", 1, 0, 5), term("b", 2, 7, 4)}},
		"a token that falls":                {[]*termSeen{term("a", 2, 0, 5), term("b", 1, 6, 7)}, true, true},
		"a token twice":                     {[]*termSeen{term("a", 1, 0, 5), term("b", 1, 6, 7)}, true, true},
		"forgotten":                         {[]*termSeen{term("a", 1, 0, 14), term("b", 2, 11, 20)}, true, false},
		"forgotten, and told too late":      {[]*termSeen{term("a", 1, 0, 15.5), term("b", 2, 11, 20)}, true, true},
		"the other began before that":       {[]*termSeen{term("a", 1, 0, 14), term("b", 2, 9, 20)}, true, true},
		"began when all that was long over": {[]*termSeen{term("a", 1, 16, 17), term("b", 2, 16.5, 20)}, true, true},
	} {
		if found := judge(play.terms, nil); len(found) > 0 != play.wrong {
			t.Errorf("%s: %q", name, found)
		}
		if found := judge(play.terms, forgot); len(found) > 0 != play.really {
			t.Errorf("%s, with a forgetting: %q", name, found)
		}
	}
}

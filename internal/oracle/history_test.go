package oracle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

// story builds histories of one lock, in whole milliseconds.
type story struct {
	h    history.History
	next int64
}

func ms(n float64) history.Instant { return history.Instant(n * 1e6) }

// hold is granted at from, by a call a millisecond before, and released at until, by a call
// that takes half a millisecond. It is valid for 100 ms.
func (s *story) hold(owner string, from, until float64, token int64) (acquire, release *history.Op) {
	s.next++
	id := s.next
	s.h.Ops = append(s.h.Ops,
		history.Op{ID: id, Kind: history.Acquire, Owner: owner, Lock: "l", Hold: id, Outcome: history.OK, Lease: 100 * time.Millisecond,
			Wait: -1, Call: ms(from - 1), Return: ms(from), Token: token, ValidUntil: ms(from + 100)},
		history.Op{Kind: history.Release, Owner: owner, Lock: "l", Hold: id, Outcome: history.OK,
			Call: ms(until), Return: ms(until + .5), ValidUntil: ms(from + 100)})
	n := len(s.h.Ops)
	return &s.h.Ops[n-2], &s.h.Ops[n-1]
}

func (s *story) fault(kind string, from, until float64, change func(*history.Fault)) {
	f := history.Fault{ID: int64(-1 - len(s.h.Faults)), Kind: kind, Client: history.Everyone, Start: ms(from), End: ms(until)}
	change(&f)
	s.h.Faults = append(s.h.Faults, f)
}

func forgets(f *history.Fault)  { f.Forgets = true }
func outlasts(f *history.Fault) { f.Outlasts = true }

// lost is a hold that its owner learns at end to have lost, and releases in vain.
func (s *story) lost(owner string, from, end float64, token int64) (acquire *history.Op) {
	_, release := s.hold(owner, from, end+1, token)
	release.Outcome = history.Gone
	id := release.Hold
	s.h.Ops = append(s.h.Ops, history.Op{Kind: history.Lost, Owner: owner, Lock: "l", Hold: id, Outcome: history.OK,
		Call: ms(end), Return: ms(end), ValidUntil: ms(from + 100)})
	return &s.h.Ops[len(s.h.Ops)-3]
}

// validUntil has all records of a hold say so.
func (s *story) validUntil(hold int64, until float64) {
	for i := range s.h.Ops {
		if s.h.Ops[i].Hold == hold {
			s.h.Ops[i].ValidUntil = ms(until)
		}
	}
}

// all asks every oracle of histories.
func all(h history.History) (found []oracle.Violation) {
	_, illegal := oracle.Linearizable(h, nil, 10*time.Second)
	found = append(found, illegal...)
	found = append(found, oracle.Overlap(h)...)
	found = append(found, oracle.Tokens(h, nil)...)
	found = append(found, oracle.Losses(h)...)
	found = append(found, oracle.Told(h, 50*time.Millisecond)...)
	found = append(found, oracle.Counts(h)...)
	found = append(found, oracle.Releases(h)...)
	return append(found, oracle.Progress(h, 0, ms(10_000), time.Second)...)
}

// names is which oracles refuse a history, each once and in the order of all.
func names(found []oracle.Violation) string {
	var list []string
	for _, v := range found {
		if len(list) == 0 || list[len(list)-1] != v.Oracle {
			list = append(list, v.Oracle)
		}
	}
	return strings.Join(list, " ")
}

// Each oracle must refuse what it is there for, and no other may: an oracle that
// approves of everything shows nothing.
func TestHistories(t *testing.T) {
	t.Parallel()
	const nanosecond = 1e-6
	for _, test := range []struct {
		name    string
		tell    func(s *story)
		refused string
	}{
		{"one after the other", func(s *story) {
			s.hold("a", 10, 20, 1)
			s.hold("b", 20.4, 30, 2)
			s.hold("a", 40, 50, 3)
		}, ""},
		{"an overlap of 1 ns", func(s *story) {
			s.hold("a", 10, 20, 0)
			s.hold("b", 20-nanosecond, 30, 0)
		}, "porcupine overlap"},
		{"a double grant", func(s *story) {
			s.hold("a", 10, 20, 1)
			s.hold("b", 15, 25, 2)
		}, "porcupine overlap"},
		{"a grant to a third one while two share an owner", func(s *story) {
			s.hold("a", 10, 20, 0)
			s.hold("a", 12, 40, 0)
			s.hold("b", 30, 35, 0)
		}, "porcupine overlap"},
		{"an equal token", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("b", 30, 40, 7)
		}, "porcupine tokens"},
		{"an equal token of the same owner's next hold", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("a", 30, 40, 7)
		}, "porcupine tokens"},
		{"a falling token", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("b", 30, 40, 6)
		}, "porcupine tokens"},
		{"re-entry", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("a", 12, 18, 7)
			s.hold("b", 30, 40, 8)
		}, ""},
		{"a token that is not known", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("b", 30, 40, 0)
			s.hold("a", 50, 60, 8)
		}, ""},
		{"a token that rises on re-entry", func(s *story) {
			s.hold("a", 10, 20, 7)
			s.hold("a", 12, 18, 8)
		}, "porcupine tokens"},
		{"the validity is over when the next one comes", func(s *story) {
			s.fault("stop", 20, 120, outlasts)
			s.lost("a", 10, 115, 1)
			s.hold("b", 110, 120, 2)
		}, ""},
		{"a hold lost for nothing", func(s *story) {
			s.lost("a", 10, 110, 0)
		}, "losses"},
		{"a hold lost for nothing and granted to another", func(s *story) {
			s.lost("a", 10, 110, 0)
			s.hold("b", 112, 120, 0)
		}, "porcupine losses"},
		{"a hold lost by another client's fault", func(s *story) {
			s.fault("reset", 20, 110, func(f *history.Fault) { f.Outlasts, f.Client = true, 1 })
			s.lost("a", 10, 110, 0)
		}, "losses"},
		{"a hold lost by a fault too short for it", func(s *story) {
			s.fault("stop", 20, 30, func(*history.Fault) {})
			s.lost("a", 10, 110, 0)
		}, "losses"},
		{"a hold lost by a short fault, by a client that does not dial for having been refused", func(s *story) {
			s.fault("refused", 1000, 1500, func(f *history.Fault) { f.Outlasts, f.Refused = true, true })
			s.fault("kill", 2020, 2030, func(*history.Fault) {})
			s.lost("a", 2010, 2110, 0)
			s.hold("b", 2112, 2120, 0)
		}, ""},
		{"the same without the fault", func(s *story) {
			s.fault("refused", 1000, 1500, func(f *history.Fault) { f.Outlasts, f.Refused = true, true })
			s.lost("a", 2010, 2110, 0)
		}, "losses"},
		{"the same, refused too long ago", func(s *story) {
			s.fault("refused", 500, 900, func(f *history.Fault) { f.Outlasts, f.Refused = true, true })
			s.fault("kill", 2020, 2030, func(*history.Fault) {})
			s.lost("a", 2010, 2110, 0)
		}, "losses"},
		{"a fixed lease ends and its owner is not told in time", func(s *story) {
			s.lost("a", 10, 160.1, 0).Fixed = true
		}, "told"},
		{"nor is one who did not run just then", func(s *story) {
			s.fault("starved", 120, 130, func(f *history.Fault) { f.Starved = true })
			s.lost("a", 10, 160.1, 0).Fixed = true
		}, ""},
		{"a fixed lease ends", func(s *story) {
			s.lost("a", 10, 110, 0).Fixed = true
			s.hold("b", 111, 120, 0)
		}, ""},
		{"a fixed lease is lost before its end", func(s *story) {
			s.lost("a", 10, 60, 0).Fixed = true
		}, "losses"},
		{"Redis forgets and another takes it, until the first is told", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.lost("a", 10, 40, 1)
			s.hold("b", 25, 50, 2)
		}, ""},
		{"Redis forgets and the lease is handed on behind its back", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.hold("a", 10, 30, 0)
			s.hold("b", 25, 50, 0)
			s.lost("c", 30.1, 40, 0).Behind = true
		}, ""},
		{"the same without a hand-off behind its back", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.hold("a", 10, 30, 0)
			s.hold("b", 25, 50, 0)
			s.lost("c", 30.1, 40, 0)
		}, "porcupine overlap"},
		{"the same long after", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.hold("a", 10, 30, 0)
			s.hold("b", 225, 250, 0)
			acquire, _ := s.hold("c", 230.1, 240, 0)
			acquire.Behind = true
		}, "porcupine overlap"},
		{"Redis forgets and nothing prevents the next renewal, but the first is not told", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			acquire := s.lost("a", 10, 300, 1)
			acquire.Lease = 300 * time.Millisecond
			s.validUntil(acquire.Hold, 310)
			s.hold("b", 25, 50, 2)
		}, "overlap"},
		{"Redis forgets and another fault prevents the next renewal", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.fault("stop", 30, 200, outlasts)
			acquire := s.lost("a", 10, 300, 1)
			acquire.Lease = 300 * time.Millisecond
			s.validUntil(acquire.Hold, 310)
			s.hold("b", 25, 50, 2)
		}, ""},
		{"Redis forgets a fixed lease", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			acquire := s.lost("a", 10, 310, 1)
			acquire.Lease, acquire.Fixed = 300*time.Millisecond, true
			s.validUntil(acquire.Hold, 310)
			s.hold("b", 25, 50, 2)
		}, ""},
		{"Redis forgets another lock", func(s *story) {
			s.fault("force", 15, 20, func(f *history.Fault) { f.Forgets, f.Lock = true, "other" })
			s.lost("a", 10, 40, 1)
			s.hold("b", 25, 50, 2)
		}, "porcupine overlap losses"},
		{"Redis forgets and the first one is renewed all the same", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			_, release := s.hold("a", 10, 200, 1)
			release.ValidUntil = ms(300)
			s.hold("b", 25, 50, 2)
		}, "overlap"},
		{"Redis forgets and the tokens begin anew", func(s *story) {
			s.fault("forget", 15, 20, forgets)
			s.lost("a", 10, 40, 7)
			s.hold("b", 25, 50, 1)
		}, "porcupine tokens"},
		{"a release without an answer", func(s *story) {
			_, release := s.hold("a", 10, 20, 1)
			release.Outcome = history.Unknown
			s.hold("b", 40, 50, 2)
		}, ""},
		{"a release without an answer and a grant before it", func(s *story) {
			_, release := s.hold("a", 10, 20, 1)
			release.Outcome = history.Unknown
			s.hold("b", 19, 50, 2)
		}, "porcupine overlap"},
		{"an acquisition without an answer", func(s *story) {
			acquire, _ := s.hold("b", 5, 6, 0)
			acquire.Outcome, acquire.Hold, acquire.Return, acquire.Wait = history.Unknown, 0, ms(700), time.Second
			s.h.Ops = s.h.Ops[:1]
			s.hold("a", 10, 20, 1)
		}, ""},
		{"a release that is refused", func(s *story) {
			_, release := s.hold("a", 10, 20, 0)
			release.Outcome = history.Refused
		}, "releases"},
		{"a release of nothing that is granted", func(s *story) {
			s.h.Ops = append(s.h.Ops, history.Op{Kind: history.Release, Lock: "l", Call: 1, Return: 2, Outcome: history.OK})
		}, "releases"},
		{"a hold count", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			s.counted(acquire, 12, 2, map[string]int{"a": 2})
		}, ""},
		{"a hold count too high", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			s.counted(acquire, 12, 2, map[string]int{"a": 3})
		}, "counts"},
		{"a second owner in the hash", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			s.counted(acquire, 12, 1, map[string]int{"a": 1, "b": 1})
		}, "counts"},
		{"an empty hash", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			s.counted(acquire, 12, 1, nil)
		}, "counts"},
		{"a look that came when the hold was over", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			s.counted(acquire, 19.5, 1, nil)
		}, ""},
		{"a waiter that nobody wakes", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			acquire.Outcome, acquire.Hold, acquire.Return = history.Unknown, 0, history.Never
			s.h.Ops = s.h.Ops[:1]
		}, "progress"},
		{"one on a machine that is too busy", func(s *story) {
			s.fault("starved", 700, 900, func(f *history.Fault) { f.Starved = true })
			acquire, _ := s.hold("a", 10, 20, 0)
			acquire.Outcome, acquire.Hold, acquire.Return = history.Unknown, 0, history.Never
			s.h.Ops = s.h.Ops[:1]
		}, ""},
		{"a call that must succeed and fails in the calm", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			acquire.Outcome, acquire.Hold, acquire.Must = history.Unknown, 0, true
			s.h.Ops = s.h.Ops[:1]
		}, "progress"},
		{"one that fails while the server is silent", func(s *story) {
			s.fault("silence", 8, 9.5, outlasts)
			acquire, _ := s.hold("a", 10, 20, 0)
			acquire.Outcome, acquire.Hold, acquire.Must = history.Unknown, 0, true
			s.h.Ops = s.h.Ops[:1]
		}, ""},
		{"a nested call that finds the lock lost in the calm", func(s *story) {
			acquire, _ := s.hold("a", 10, 20, 0)
			acquire.Outcome, acquire.Hold, acquire.Nested = history.Gone, 0, true
			s.h.Ops = s.h.Ops[:1]
		}, ""},
		{"a limit that is not kept", func(s *story) {
			acquire, _ := s.hold("a", 1500, 1600, 0)
			acquire.Outcome, acquire.Hold, acquire.Wait = history.Refused, 0, 100*time.Millisecond
			acquire.Call = ms(10)
			s.h.Ops = s.h.Ops[:1]
		}, "progress"},
		{"a release that hangs", func(s *story) {
			_, release := s.hold("a", 10, 20, 0)
			release.Outcome, release.Return = history.Unknown, ms(2000)
		}, "progress"},
	} {
		s := &story{}
		test.tell(s)
		found := all(s.h)
		if got := names(found); got != test.refused {
			t.Errorf("%s: refused by %q, want %q: %v", test.name, got, test.refused, found)
		}
	}
}

func (s *story) counted(acquire *history.Op, at float64, want int, got map[string]int) {
	s.h.Ops = append(s.h.Ops, history.Op{Kind: history.Counted, Owner: acquire.Owner, Lock: "l", Hold: acquire.Hold,
		Call: ms(at), Return: ms(at + 1), Outcome: history.OK, Want: want, Got: got})
}

// What was issued in an earlier stretch of a long run counts.
func TestTokensOverStretches(t *testing.T) {
	t.Parallel()
	highest := make(map[string]int64)
	first, second := &story{}, &story{}
	first.hold("a", 10, 20, 7)
	second.hold("b", 30, 40, 7)
	if found := oracle.Tokens(first.h, highest); len(found) > 0 || highest["l"] != 7 {
		t.Errorf("found %v, highest %v", found, highest)
	}
	if _, found := oracle.Linearizable(second.h, highest, time.Second); names(found) != "porcupine" {
		t.Errorf("porcupine found %v", found)
	}
	if found := oracle.Tokens(second.h, highest); names(found) != "tokens" {
		t.Errorf("found %v", found)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	r := oracle.Requests{Ops: 1000, Groups: 8, Span: 10 * time.Second}
	r.Sent = r.Allowed()
	if found := oracle.Rate(r); len(found) > 0 {
		t.Error(found)
	}
	r.Sent++
	if found := oracle.Rate(r); names(found) != "rate" {
		t.Errorf("found %v", found)
	}
}

// A long history with every outcome is judged soon, however many are unknown.
func TestManyUnknown(t *testing.T) {
	t.Parallel()
	s := &story{}
	for i := range 2000 {
		at := float64(10 * i)
		acquire, release := s.hold(fmt.Sprint(i%16), at+5, at+9, int64(i+1))
		switch i % 4 {
		case 0:
			release.Outcome = history.Unknown
		case 1:
			acquire.Outcome, acquire.Hold, acquire.Return = history.Unknown, 0, acquire.Return+ms(100)
			release.Kind, release.Outcome, release.Hold = history.Acquire, history.Refused, 0
		}
	}
	v, found := oracle.Linearizable(s.h, nil, 30*time.Second)
	if v.Undecided > 0 || len(found) > 0 || v.Checked < 3000 {
		t.Errorf("%+v, %v", v, found)
	}
	s.hold("late", 15003, 15010, 0) // long after, a second holder
	s.h.Ops[len(s.h.Ops)-2].Token = s.h.Ops[2*1503].Token
	if _, found = oracle.Linearizable(s.h, nil, 30*time.Second); names(found) != "porcupine" {
		t.Errorf("an equal token among thousands: %v", found)
	}
}

// A hold that says nothing of its validity counts until its release is called, but not if
// that says that the Client was closed under it: its holder could not know since when.
func TestHoldOfAClosedClient(t *testing.T) {
	t.Parallel()
	for outcome, overlaps := range map[history.Outcome]bool{history.OK: true, history.Unknown: true, history.Closed: false, history.Gone: false} {
		s := new(story)
		_, release := s.hold("a", 1, 685, 0)
		release.Outcome = outcome
		s.validUntil(release.Hold, 0)
		s.hold("b", 600, 610, 0)
		if got := len(oracle.Overlap(s.h)) > 0; got != overlaps {
			t.Errorf("released with %q: overlap %v, want %v", outcome, got, overlaps)
		}
		if _, illegal := oracle.Linearizable(s.h, nil, 10*time.Second); outcome == history.Closed && len(illegal) > 0 {
			t.Errorf("released with %q: %v", outcome, illegal)
		}
	}
}

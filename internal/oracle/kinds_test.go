package oracle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

// on is hold of one side of a read-write lock.
func (s *story) on(side history.Side, owner string, from, until float64, token int64) (acquire, release *history.Op) {
	acquire, release = s.hold(owner, from, until, token)
	acquire.Side = side
	return acquire, release
}

func (s *story) read(owner string, from, until float64) (acquire, release *history.Op) {
	return s.on(history.Reading, owner, from, until, 0)
}

func (s *story) write(owner string, from, until float64, token int64) (acquire, release *history.Op) {
	return s.on(history.Writing, owner, from, until, token)
}

func TestReadWriteHistories(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		tell    func(s *story)
		refused string
	}{
		{"readers together, a writer after them", func(s *story) {
			s.read("a", 10, 30)
			s.read("b", 15, 25)
			s.write("c", 30.5, 40, 1)
			s.read("a", 41, 50)
		}, ""},
		{"a reader beside a writer", func(s *story) {
			s.write("a", 10, 20, 1)
			s.read("b", 15, 25)
		}, "porcupine overlap"},
		{"a writer beside the second of two readers", func(s *story) {
			s.read("a", 10, 20)
			s.read("b", 12, 40)
			s.write("c", 30, 35, 1)
		}, "porcupine overlap"},
		{"two writers", func(s *story) {
			s.write("a", 10, 20, 1)
			s.write("b", 15, 25, 2)
		}, "porcupine overlap"},
		{"a writer that reads, and goes on reading", func(s *story) {
			s.write("a", 10, 20, 1)
			s.read("a", 15, 40)
			s.read("b", 25, 30)
		}, ""},
		{"a writer beside one that goes on reading", func(s *story) {
			s.write("a", 10, 20, 1)
			s.read("a", 15, 40)
			s.write("b", 25, 30, 2)
		}, "porcupine overlap"},
		{"a reader that writes", func(s *story) {
			s.read("a", 10, 40)
			s.write("a", 20, 30, 1)
		}, "porcupine"},
		{"a nested write", func(s *story) {
			s.write("a", 10, 40, 1)
			s.write("a", 20, 30, 1)
		}, ""},
		{"a token of writers that does not rise", func(s *story) {
			s.write("a", 10, 20, 7)
			s.read("c", 21, 22)
			s.write("b", 30, 40, 7)
		}, "porcupine tokens"},
		{"a writer after a reader that was lost", func(s *story) {
			s.fault("stop", 15, 40, outlasts)
			s.lost("a", 10, 40, 0).Side = history.Reading
			s.write("b", 45, 50, 1)
		}, ""},
		{"a writer after readers whose releases were not confirmed", func(s *story) {
			for _, owner := range []string{"a", "b"} {
				_, release := s.read(owner, 10, 20)
				release.Outcome = history.Unknown
			}
			s.read("c", 22, 24)
			s.write("d", 30, 40, 1)
		}, ""},
		{"a fixed read that outlives the shared lease it was inside", func(s *story) {
			s.read("a", 10, 30)
			acquire := s.lost("a", 20, 60, 0)
			acquire.Side, acquire.Fixed, acquire.Lease = history.Reading, true, 40*time.Millisecond
			id := acquire.ID
			s.validUntil(id, 60)
			for i := range s.h.Ops {
				if s.h.Ops[i].ID == id {
					s.h.Ops[i].ValidUntil = ms(110)
				}
			}
			s.write("b", 61, 70, 1)
		}, ""},
		{"a fixed read that is lost before its own lease is over", func(s *story) {
			acquire := s.lost("a", 20, 50, 0)
			acquire.Side, acquire.Fixed, acquire.Lease = history.Reading, true, 100*time.Millisecond
		}, "losses"},
		{"a writer beside a reader that Redis has forgotten", func(s *story) {
			s.read("a", 10, 30)
			s.fault("restart", 15, 16, forgets)
			s.write("b", 20, 25, 1)
		}, ""},
	} {
		s := &story{}
		test.tell(s)
		found := all(s.h)
		if got := names(found); got != test.refused {
			t.Errorf("%s: refused by %q, want %q: %v", test.name, got, test.refused, found)
		}
	}
}

// A long history of readers that overlap is judged soon.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	s := &story{}
	for i := range 3000 {
		at := float64(i/20*600 + i%20*5)
		if i%20 == 19 {
			s.write("w", at+300, at+310, int64(i))
			continue
		}
		_, release := s.read(fmt.Sprint(i%20), at, at+90)
		if i%5 == 0 {
			release.Outcome = history.Unknown
		}
	}
	v, found := oracle.Linearizable(s.h, nil, 30*time.Second)
	if v.Undecided > 0 || len(found) > 0 || v.Checked < 5000 {
		t.Errorf("%+v, %v", v, found)
	}
}

// waits is a hold whose call began at call, and was seen in the line at lined unless that is 0.
func (s *story) waits(owner string, call, lined, from, until float64) (acquire *history.Op) {
	if lined != 0 {
		s.h.Ops = append(s.h.Ops, history.Op{Kind: history.Lined, Lock: "l", Field: owner, Outcome: history.OK, Call: ms(lined - .5), Return: ms(lined)})
	}
	acquire, _ = s.hold(owner, from, until, 0)
	acquire.Call, acquire.Field = ms(call), owner
	return acquire
}

// unanswered is a call that ended without an answer.
func (s *story) unanswered(owner string, call, until float64, lease time.Duration) {
	s.h.Ops = append(s.h.Ops, history.Op{
		Kind: history.Acquire, Lock: "l", Owner: owner, Outcome: history.Unknown, Call: ms(call), Return: ms(until), Lease: lease,
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	inTurn := func(s *story) {
		s.waits("a", 1010, 1012, 1030, 1040)
		s.waits("b", 1015, 1017, 1041, 1050)
		s.waits("c", 1016, 0, 1051, 1060)
	}
	overtaken := func(s *story) {
		s.waits("a", 1010, 1012, 1050, 1060)
		s.waits("b", 1015, 1017, 1030, 1040)
	}
	disturbed := func(client int, from, until float64) func(s *story) {
		return func(s *story) {
			overtaken(s)
			for i := range s.h.Ops {
				s.h.Ops[i].Client = 3
			}
			s.fault("cut", from, until, func(f *history.Fault) { f.Client = client })
		}
	}
	for _, test := range []struct {
		name  string
		tell  func(s *story)
		found int
	}{
		{"in turn", inTurn, 0},
		{"overtaken", overtaken, 1},
		{"overtaken by one that was not seen in the line", func(s *story) {
			s.waits("a", 1010, 1012, 1050, 1060)
			s.waits("b", 1015, 0, 1030, 1040)
		}, 1},
		{"called before the other one was seen", func(s *story) {
			s.waits("a", 1010, 1016, 1050, 1060)
			s.waits("b", 1015, 1017, 1030, 1040)
		}, 0},
		{"a waiter that left", func(s *story) {
			acquire := s.waits("a", 1010, 1012, 1050, 1060)
			acquire.Outcome, acquire.Hold = history.Refused, 0
			s.waits("b", 1015, 1017, 1030, 1040)
		}, 0},
		{"overtaken by a nested call", func(s *story) {
			s.waits("b", 1000, 0, 1005, 1048)
			s.waits("a", 1010, 1012, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020).Nested = true
		}, 0},
		{"overtaken by an owner that Redis knew still", func(s *story) {
			s.lost("b", 1000, 1012, 0).Lease = 30 * time.Millisecond
			s.waits("a", 1005, 1010, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020)
		}, 0},
		{"overtaken by an owner whose lost lease is over", func(s *story) {
			s.lost("b", 900, 912, 0).Lease = 30 * time.Millisecond
			s.waits("a", 1005, 1010, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020)
		}, 1},
		{"overtaken by an owner whose call before had no answer", func(s *story) {
			s.unanswered("b", 1000, 1013, 30*time.Millisecond)
			s.waits("a", 1005, 1010, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020)
		}, 0},
		{"overtaken by an owner whose call without an answer came later", func(s *story) {
			s.unanswered("b", 1012, 1013, 30*time.Millisecond)
			s.waits("a", 1005, 1010, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020)
		}, 1},
		{"overtaken by an owner whose call without an answer was long ago", func(s *story) {
			s.unanswered("b", 900, 913, 30*time.Millisecond)
			s.waits("a", 1005, 1010, 1050, 1060)
			s.waits("b", 1015, 0, 1016, 1020)
		}, 1},
		{"overtaken while its client was cut off", disturbed(3, 1020, 1021), 0},
		{"overtaken right after its client was cut off", disturbed(3, 500, 501), 0},
		{"overtaken long after", disturbed(3, 1, 2), 1},
		{"overtaken while another client was cut off", disturbed(4, 1020, 1021), 1},
		{"overtaken while the server was struck", disturbed(history.Everyone, 1020, 1021), 0},
	} {
		s := &story{}
		test.tell(s)
		if found := oracle.Order(s.h); len(found) != test.found {
			t.Errorf("%s: found %v, want %d", test.name, found, test.found)
		}
	}
}

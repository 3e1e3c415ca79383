package lockstate

import (
	"testing"
	"time"
)

// An owner has a renewed hold, and a nested call of it a fixed one. An Unlock of the owner ends the last hold, which is
// the fixed one. Then the nested call gives its hold back, as it has left: no hold is left that nobody would release.
func TestGivenBackAfterAnUnlockTookIt(t *testing.T) {
	for _, kind := range []HoldKind{{Fixed: true}, {}} {
		var s State
		e := fakeEngine{clock: &clock{now: start}, did: mute}
		s.Init(&Config{Lease: testLease}, &e, false)
		w := &Waiter{Request: Request{Owner: "c:1", Lease: testLease, Began: start}, Call: &fakeCall{did: muteOne}}
		w.Fixed = !kind.Fixed
		s.Enqueue(w)
		o, refusal := s.Granted(w, Grant{Sent: start}, start)
		if refusal != Accepted {
			t.Fatal(refusal)
		}
		x := &Reentry{Of: o, Kind: kind, Lease: time.Minute}
		if !x.Send(start) || s.Settle(x, false, false, start) != Added {
			t.Fatal("not added")
		}
		if step := s.Release(o, &Hold{}, start); step != SetCount {
			t.Fatal(step)
		}
		if got := s.LeaveReentry(x, false); got != Returned {
			t.Fatal(got)
		}
		if send, last := s.GiveBack(o, x.Kind, start); !send || !last {
			t.Errorf("%+v: holds are left that no caller has: %v", kind, o.holds)
		}
	}
}

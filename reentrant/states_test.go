package reentrant

import (
	"strconv"
	"testing"
	"time"
)

// useOnce makes the state of a lock and leaves it.
func useOnce(c *Client, name string) *lockState {
	s := c.useState(c.NewLock(name))
	s.dropUser()
	return s
}

// The Client keeps the lock states that were left last, and no more than maxIdleStates.
func TestIdleStatesAreKept(t *testing.T) {
	c := nowhere(t)
	first := useOnce(c, "0")
	if again := useOnce(c, "0"); again != first {
		t.Error("made anew")
	}
	used := c.useState(c.NewLock("used"))
	used.dropUser()
	used = c.useState(c.NewLock("used")) // it is among the idle ones still
	for i := range 2 * maxIdleStates {
		useOnce(c, strconv.Itoa(i))
	}
	if n := len(c.states[plain.number]); n != maxIdleStates+1 || len(c.unused.ring) != maxIdleStates {
		t.Errorf("%d lock states, %d in the ring", n, len(c.unused.ring))
	}
	if useOnce(c, "0") == first {
		t.Error("the oldest one was kept")
	}
	if s := c.useState(c.NewLock("used")); s != used {
		t.Error("one with a user was removed")
	} else {
		s.dropUser()
	}
	used.dropUser()
	if c.findState(c.NewLock("used")) != nil {
		t.Error("found without a user")
	}
	for _, s := range c.states[plain.number] {
		if s.users.Load() != 0 || !s.idle {
			t.Fatalf("%q has %d users, idle %t", s.name, s.users.Load(), s.idle)
		}
	}
}

// A lock state is not kept if it knows what a new one does not, or its Client closes.
func TestIdleStatesThatAreNotKept(t *testing.T) {
	c := nowhere(t)
	for name, unlike := range map[string]func(*lockState){
		"a command is not answered": func(s *lockState) { s.sequencer.unknown = true },
		"fails":                     func(s *lockState) { s.state.CommandBegun(time.Now()); s.state.CommandTried(false) },
		"closes":                    func(s *lockState) { s.beginClose() },
	} {
		useOnce(c, name)
		s := c.useState(c.NewLock(name))
		unlike(s)
		s.dropUser()
		if next := c.useState(c.NewLock(name)); next == s {
			t.Errorf("%s: kept", name)
		} else {
			next.dropUser()
		}
	}
	if c.inheritUntil.IsZero() {
		t.Error("the doubt is forgotten")
	}
	s := c.useState(c.NewFairLock("fair"))
	s.dropUser()
	if len(c.states[fair.number]) != 0 {
		t.Error("a fair lock's was kept")
	}
}

package reentrant

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// nowhere is a Client whose Redis cannot be reached.
func nowhere(t *testing.T) *Client {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close(context.Background())
		_ = rdb.Close()
	})
	return c
}

// An owner whose loss is being forgotten, as the oldest of all, loses a lock again: that is the
// last loss of all, and is remembered. Nothing is left of either when they have been unlocked.
func TestLostAgainWhileTheFirstLossIsForgotten(t *testing.T) {
	c := nowhere(t)
	s, other := c.useState(c.NewLock("a")), c.useState(c.NewLock("b"))
	lose := func(s *lockState, owner string) {
		w := c.newWaiter(&request{Request: lockstate.Request{Owner: owner, Lease: time.Minute}})
		s.state.Enqueue(&w.Waiter)
		o, refusal := s.state.Granted(&w.Waiter, lockstate.Grant{Sent: time.Now()}, time.Now())
		if refusal != lockstate.Accepted {
			t.Fatalf("refused: %v", refusal)
		}
		s.state.Lose(o.Lease(), lockstate.Overridden, time.Now())
	}
	idle := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := c.drain(ctx); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	lose(s, "o")
	other.mu.Lock()
	for i := range maxLost { // the last of them begins to forget o, for which s.mu is wanted
		lose(other, fmt.Sprint("x", i))
	}
	other.mu.Unlock()
	lose(s, "o")
	s.mu.Unlock()
	idle()
	s.mu.Lock()
	if err := s.takeLoss(identity{owner: "o"}); !errors.Is(err, ErrLost) {
		t.Errorf("the last loss was forgotten: %v", err)
	}
	s.mu.Unlock()
	other.mu.Lock()
	for i := range maxLost {
		_ = other.takeLoss(identity{owner: fmt.Sprint("x", i)})
	}
	other.mu.Unlock()
	idle()
	s.dropUser()
	other.dropUser()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.lost.fixed.Len() + c.lost.renewed.Len(); statesInUse(c, plain)+n > 0 {
		t.Errorf("%d lock states and %d losses are left", len(c.states[plain.number]), n)
	}
}

// A lock state that began in doubt, because of one before it, and has sent nothing that could be in doubt
// does not prolong it.
func TestDoubtIsNotHandedOnForEver(t *testing.T) {
	c := nowhere(t)
	until := time.Now().Add(inheritFor)
	c.inheritUntil = until
	if _, err := c.NewLock("job").ForceUnlock(t.Context()); err == nil {
		t.Fatal("a Redis that is nowhere has answered")
	}
	if !c.inheritUntil.Equal(until) {
		t.Errorf("moved by %v", c.inheritUntil.Sub(until))
	}
}

// statesInUse counts the lock states that have users. The caller has Client.mu.
func statesInUse(c *Client, k *kind) (n int) {
	for _, s := range c.states[k.number] {
		if s.users.Load() > 0 {
			n++
		}
	}
	return n
}

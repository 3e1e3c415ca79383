package pictures

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlatchtest"
)

const servers = 5

// keeping is a quorum whose servers fall silent one after the other.
type keeping struct {
	down [servers]time.Duration // since when each is silent; 0: it answers
	lost time.Duration
}

func recordQuorum(t *testing.T) (k keeping) {
	var redises [servers]*redlatchtest.Redis
	var members []multilock.Locker
	for i := range redises {
		redises[i] = redlatchtest.New(t)
		members = append(members, redises[i].Client().NewLock("order:42"))
	}
	// The servers of the test are new, and say so.
	lock, err := multilock.NewQuorumWith(members, multilock.WithoutQuarantine())
	must(t, err)
	began := time.Now()
	hold, err := lock.Acquire(t.Context())
	must(t, err)
	for _, i := range []int{3, 1, 4} {
		time.Sleep(20 * time.Second)
		redises[i].Silence()
		k.down[i] = time.Since(began)
	}
	<-hold.Lost()
	k.lost = time.Since(began)
	for _, r := range redises {
		r.Answer()
	}
	_ = hold.Release(t.Context()) // ErrLost
	return k
}

func quorum(t *testing.T) []byte {
	k := recordQuorum(t)
	const left, right, top = 130.0, 780.0, 76.0
	at := func(d time.Duration) float64 { return left + (right-left)*d.Seconds()/100 }
	c := &canvas{}
	c.text(16, 28, "h", "start", "A quorum of five servers")
	c.text(16, 48, "m", "start", "Lease 30 s. Two servers fall silent, and the hold goes on. Then a third does. Recorded in virtual time.")
	for i, down := range k.down {
		y := top + float64(i)*28
		c.text(16, y+13, "w", "start", fmt.Sprintf("server %d", i+1))
		end := right
		if down > 0 {
			end = at(down)
			c.box("dark", end, y, right-end, 18)
			c.text(end+8, y+13.5, "bad", "start", "silent")
		}
		c.box("lease", left, y, end-left, 18)
	}
	y := top + servers*28 + 14
	c.text(16, y+13, "w", "start", "the holder")
	c.box("hold", left, y, at(k.lost)-left, 18)
	c.text(at(k.lost)+8, y+13.5, "bad", "start", "lost")
	c.text((left+at(k.lost))/2, y+13.5, "c", "middle", "at least three of five count")
	c.line("dash", at(k.lost), top, at(k.lost), y+34)
	c.line("line", left, y+34, right, y+34)
	for s := 0; s <= 100; s += 20 {
		x := at(time.Duration(s) * time.Second)
		c.line("line", x, y+30, x, y+38)
		c.text(x, y+54, "m", "middle", fmt.Sprintf("%d s", s))
	}
	c.text(16, y+82, "m", "start", "The holder is told at ValidUntil: when the lease on the third of these servers can have ended.")
	c.text(16, y+100, "m", "start", "A server that was restarted may have forgotten a lock. It does not count until it has run for the longest lease.")
	return c.svg(int(y)+118, "A quorum of five servers", fmt.Sprintf(
		"Two of five servers fall silent, and the hold goes on. A third falls silent at 60 s. The holder is told at %.1f s, when only two servers count.", k.lost.Seconds()))
}

package pictures

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/reentrant"
)

// holding is what has happened to a hold, since it was granted.
type holding struct {
	renewed             []time.Duration
	silent, valid, lost time.Duration
	freed, next         time.Duration
}

// recordLease has Redis fall silent under a holder, and answer again when the holder has been told. Another process waits.
func recordLease(t *testing.T) (h holding) {
	r := redlatchtest.New(t)
	var began time.Time
	since := func() time.Duration { return time.Since(began) }
	holder := r.Client(reentrant.WithEvents(reentrant.Events{Renewed: func(reentrant.Event) { h.renewed = append(h.renewed, since()) }}))
	waiter := r.Client()
	began = time.Now()
	hold, err := holder.NewLock("order:42").Acquire(t.Context())
	must(t, err)
	granted := make(chan error)
	go func() {
		granted <- waiter.NewLock("order:42").Do(t.Context(), func(context.Context) error {
			h.next = since()
			return nil
		})
	}()
	time.Sleep(25 * time.Second)
	r.Silence()
	h.silent = since()
	<-hold.Lost()
	h.lost, h.valid = since(), hold.ValidUntil().Sub(began)
	r.Answer()
	h.freed = h.renewed[len(h.renewed)-1] + 30*time.Second
	must(t, <-granted)
	return h
}

func lease(t *testing.T) []byte {
	h := recordLease(t)
	const left, right, top = 130.0, 780.0, 96.0
	at := func(d time.Duration) float64 { return left + (right-left)*d.Seconds()/60 }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	c := &canvas{}
	c.text(16, 28, "h", "start", "A hold: lease, renewal, ValidUntil, loss")
	c.text(16, 48, "m", "start", fmt.Sprintf("Lease 30 s. Redis is silent from %s on. Recorded in virtual time.", seconds(h.silent)))
	c.box("dark", at(h.silent), top-22, at(h.lost)-at(h.silent), 190)
	c.text((at(h.silent)+at(h.lost))/2, top-8, "bad", "middle", "Redis is silent")

	c.text(16, top+21, "w", "start", "holder")
	c.box("hold", at(0), top+8, at(h.lost)-at(0), 18)
	c.text(at(0)+8, top+21.5, "c", "start", "works")
	c.text(at(h.lost)-6, top+44, "bad", "end", "ctx ends: ErrLost")
	c.line("dash", at(h.valid), top-22, at(h.valid), top+222)

	c.text(16, top+81, "w", "start", "TTL in Redis")
	begins := append([]time.Duration{0}, h.renewed...)
	for i, from := range begins {
		y := top + 62 + float64(i)*20
		c.box("lease", at(from), y, at(from+30*time.Second)-at(from), 14)
		c.dot(at(from), y+7)
		what := "renewed at a third: "
		if i == 0 {
			what = "granted: "
		}
		c.text(at(from)+10, y+11.5, "m", "start", what+seconds(from))
	}
	c.text(16, top+161, "w", "start", "next holder")
	c.box("other", at(h.next), top+148, right-at(h.next), 18)

	c.line("line", left, top+182, right, top+182)
	for s := 0; s <= 60; s += 10 {
		x := at(time.Duration(s) * time.Second)
		c.line("line", x, top+178, x, top+186)
		c.text(x, top+202, "m", "middle", fmt.Sprintf("%d s", s))
	}
	c.text(at(h.valid)-6, top+222, "w", "end", "ValidUntil "+seconds(h.valid))
	c.text(at(h.freed)+2, top+222, "m", "start", "the TTL ends "+seconds(h.freed))
	return c.svg(340, "A hold: lease, renewal, ValidUntil, loss", fmt.Sprintf(
		"The Client renews a lease of 30 s every 10 s. Redis is silent from %s on. The holder is told at ValidUntil, %s, before the TTL in Redis ends at %s. Then another owner gets the lock.",
		seconds(h.silent), seconds(h.valid), seconds(h.freed)))
}

package browsertests

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// stage has locks as a company has them. Its Clients live on one machine and for seconds, so the stage writes in their stead
// what Clients on many machines, and for hours, would say of themselves.
type stage struct {
	t    testing.TB
	s    *redistest.Server
	page *reentrant.Client // which shows it
}

// actor is a Client that is known by the name that the stage gave it.
type actor struct {
	*reentrant.Client
	stage *stage
	name  string // "billing@web-3:411"
	id    string
	held  []reentrant.ReportedHold
}

func (g *stage) actor(name string) *actor {
	g.t.Helper()
	a := &actor{Client: newClient(g.t, g.s, reentrant.WithLease(5*time.Minute)), stage: g, name: name}
	l := a.NewLock("its ID")
	must(g.t, l.Lock(g.t.Context()))
	info, err := l.Info(g.t.Context())
	must(g.t, err)
	must(g.t, l.Unlock(g.t.Context()))
	a.id = info.Holder.Client
	return a
}

// holds takes a lock, and lets it be held since that long ago.
func (a *actor) holds(l *reentrant.Lock, by string, since time.Duration) {
	t := a.stage.t
	t.Helper()
	must(t, l.Lock(owner(t, by)))
	info, err := a.stage.page.Inspect(t.Context(), l.Name())
	must(t, err)
	for _, holder := range append(info.Others, info.Holder) {
		if holder.Client == a.id {
			a.held = append(a.held, reentrant.ReportedHold{Name: l.Name(), Field: holder.Field, Since: time.Now().Add(-since)})
		}
	}
}

// waits waits for a lock since that long ago; n is how many wait then.
func (a *actor) waits(l *reentrant.Lock, by string, since time.Duration, n int64) {
	t, s := a.stage.t, a.stage.s
	t.Helper()
	key := "redlatch_waiters:{" + l.Name() + "}"
	waits(t, s, l, by, registered(t, s, l.Name(), n))
	last, err := s.Admin().ZRevRangeWithScores(t.Context(), key, 0, 0).Result()
	must(t, err)
	must(t, s.Admin().ZAdd(t.Context(), key, redis.Z{Member: last[0].Member, Score: last[0].Score - float64(since.Microseconds())}).Err())
}

// reports writes the name and the report of an actor.
func (a *actor) reports(waiting int, age time.Duration) {
	t, s := a.stage.t, a.stage.s
	t.Helper()
	now := time.Now()
	text, err := json.Marshal(reentrant.ClientReport{
		ID: a.id, Name: a.name, Since: now.Add(-age), At: now, Held: len(a.held), Waiting: waiting, Oldest: a.held,
	})
	must(t, err)
	s.Do(t, "SET", lua.ClientKey("", a.id), a.name)
	s.Do(t, "SET", lua.ClientKey("", a.id)+":report", string(text))
	s.Do(t, "ZADD", lua.ClientKey("", ""), now.UnixMilli(), a.id)
}

// leases has the leases of the pictures: what they were renewed to, and what is left. The Clients' own are long, so that none is
// renewed meanwhile.
var leases = []struct {
	lock          string
	renewed, left int // seconds
}{{"order:42", 30, 27}, {"deploy", 30, 22}, {"label-printer", 30, 24}, {"price-table", 30, 29}, {"invoice:2031", 120, 78}, {"report:15:00", 30, 7}}

// set holds and waits for the locks of the pictures.
func (g *stage) set() {
	t, s := g.t, g.s
	t.Helper()
	checkout, web1, mail := g.actor("billing@web-3:411"), g.actor("billing@web-1:397"), g.actor("mail@worker-2:1290")
	release, ci := g.actor("deploy@ci-2:1187"), g.actor("deploy@ci-4:902")
	cron, depot := g.actor("reports@cron-1:88"), g.actor("depot@hall-1:640")
	readers := []*actor{g.actor("pricing@web-1:398"), g.actor("pricing@web-2:402"), g.actor("pricing@web-3:415")}

	order := func(c *actor) *reentrant.Lock { return c.NewLock("order:42", reentrant.WithFencing()) }
	checkout.holds(order(checkout), "checkout", 4*time.Second)
	must(t, order(checkout).Lock(owner(t, "checkout")))
	web1.waits(order(web1), "refund", 2300*time.Millisecond, 1)
	mail.waits(order(mail), "receipt", 1100*time.Millisecond, 2)

	release.holds(release.NewLock("deploy"), "release 4.12", 192*time.Second)
	ci.waits(ci.NewLock("deploy"), "release 4.13", 87*time.Second, 1)
	cron.holds(cron.NewLock("report:15:00", reentrant.WithFencing()), "nightly", 41*time.Second)

	depot.holds(depot.NewFairLock("label-printer"), "line 1", 6*time.Second)
	for i, line := range []string{"line 2", "line 3", "line 4"} {
		waits(t, s, depot.NewFairLock("label-printer"), line, inLine(t, s, "label-printer", int64(i+1)))
	}
	for i, r := range readers {
		r.holds(r.NewReadWriteLock("price-table").Read(), "quote", time.Duration(9-2*i)*time.Second)
	}
	cron.waits(cron.NewReadWriteLock("price-table").Write(), "import", 3*time.Second, 1)

	javaHolds(t, s, "invoice:2031")
	g.javaWaits("invoice:2031")

	for _, a := range []*actor{checkout, web1, mail, release, ci, cron, depot, readers[0], readers[1], readers[2]} {
		waiting := 0
		switch a {
		case web1, mail, ci, cron:
			waiting = 1
		case depot:
			waiting = 3
		}
		a.reports(waiting, 5*time.Hour)
	}
	for _, l := range leases {
		s.Do(t, "EXPIRE", l.lock, l.renewed)
	}
}

// javaWaits listens as a thread of Redisson does that waits.
func (g *stage) javaWaits(lock string) {
	g.t.Helper()
	sub := g.s.Admin().Subscribe(g.t.Context(), fmt.Sprintf("redisson_lock__channel:{%s}", lock))
	g.t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(context.WithoutCancel(g.t.Context()))
	must(g.t, err)
}

// renewed has the page see each lease as it was renewed, and then what is left of it.
func (g *stage) renewed(page *tab) {
	g.t.Helper()
	set := func(seconds func(i int) int, shown string) {
		redistest.Eventually(g.t, soon, "the leases are shown", func() bool {
			for i := range leases {
				g.s.Do(g.t, "EXPIRE", leases[i].lock, seconds(i))
			}
			return page.evaluate(shown) == true
		})
	}
	set(func(i int) int { return leases[i].renewed }, row("order:42")+".querySelector('.lease').innerText === '30 s'")
	// The bar is drawn a second after the text.
	set(func(i int) int { return leases[i].left }, "((td) => parseFloat(td.innerText) < 8 && td.querySelector('i').offsetWidth < td.querySelector('.bar').offsetWidth / 4)("+row("report:15:00")+".querySelector('.lease'))")
}

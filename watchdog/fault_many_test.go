package watchdog_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// A hundred thousand locks of one process are renewed on a server: none is missed, it takes
// the watchdog's goroutine and a helper or more of four, a call has more than a batch in
// it only if renewals are late, and the server has time for others between them.
func TestFault49HundredThousandLocks(t *testing.T) {
	const locks, batch, lease = 100_000, 500, 5 * time.Minute
	s := redistest.Start(t)
	s.Do(t, "EVAL", `for i = 0, ARGV[1] - 1 do
		redis.call('HSET', 'lock:' .. i, 'owner', 1)
		redis.call('PEXPIRE', 'lock:' .. i, ARGV[2])
	end`, 0, locks, lease.Milliseconds()/2)
	rdb := s.Client(t)
	r := &redis{answer: func(_ int, ctx context.Context, ts []watchdog.Target) []watchdog.Result {
		fields := make([]lua.FieldOwner, len(ts))
		for i, x := range ts {
			fields[i] = lua.FieldOwner{Lock: x.Key, Owner: x.Owner}
		}
		renewals, err := lua.Renew(ctx, rdb, fields, lease)
		res := make([]watchdog.Result, len(ts))
		for i := range res {
			res[i] = watchdog.Result{Outcome: watchdog.Failed, Err: err}
			if i < len(renewals) && renewals[i] == lua.Renewed {
				res[i] = watchdog.Result{Outcome: watchdog.Renewed}
			} else if err == nil {
				res[i].Err = fmt.Errorf("%s: answer %v", ts[i].Key, renewals[i])
			}
		}
		return res
	}}
	w := r.start(watchdog.Config{Lease: lease, Batch: batch})
	before := goroutines()
	hs := make([]quiet, locks)
	for i := range hs {
		w.Add(&hs[i].Watch, target(i), &hs[i], watchdog.Schedule{ValidUntil: watchdog.Validity(time.Now(), lease), Renew: true})
	}
	s.Do(t, "CONFIG", "RESETSTAT")

	// The period's passing: all are due at once, which is as bad as it gets.
	foreign := s.Client(t)
	w.DueNow()
	began := time.Now()
	w.Kick()
	var pings []time.Duration
	most := 0
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for w.Stats().Renewals+w.Stats().Failures < locks {
		if time.Since(began) > lease/4 { // none is due again before a third of it
			t.Fatalf("not all renewed: %+v", w.Stats())
		}
		asked := time.Now()
		if err := foreign.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		pings = append(pings, time.Since(asked))
		if len(pings)%32 == 1 { // looking stops everybody
			most = max(most, goroutines()-before)
		}
		<-pause.C
	}
	took := time.Since(began)
	closeNow(t, w)
	scripts := 0
	for _, n := range r.sizes {
		scripts += (n + batch - 1) / batch // as lua.Renew makes of them
	}
	slices.Sort(pings)
	t.Logf("%d renewals in %v, %d scripts; %d PINGs of another client meanwhile: p50 %v, p99 %v; %d goroutines",
		locks, took, scripts, len(pings), pings[len(pings)/2], pings[len(pings)*99/100], most)
	if st := w.Stats(); st.Renewals != locks || st.Failures != 0 || st.Losses != 0 {
		t.Errorf("%+v, %v", st, r.failures)
	}
	if most > 1+watchdog.MaxHelpers {
		t.Errorf("%d goroutines", most)
	}
	if scripts < locks/batch || scripts > locks/batch*11/10 || r.largest() > 8*batch {
		t.Errorf("%d scripts, and calls of up to %d locks", scripts, r.largest())
	}
	if len(pings) < 20 { // one script, or one after another, would leave no room for them
		t.Errorf("%d PINGs in %v", len(pings), took)
	}
	for i := 0; i < locks; i += 997 {
		left, least := s.Do(t, "PTTL", fmt.Sprint("lock:", i)).(int64), lease-time.Since(began)-time.Millisecond
		if left < least.Milliseconds() {
			t.Errorf("lock %d has %d ms left, want %v or more", i, left, least)
		}
	}
}

package watchdog_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// contender's lease is used by one goroutine at a time; told is written by the
// watchdog's.
type contender struct {
	watchdog.Watch
	told chan watchdog.Cause // holds two, so that a second Lost would be seen
}

func (c *contender) Renewed(time.Time)         {}
func (c *contender) Lost(cause watchdog.Cause) { c.told <- cause }

// Each registration ends in exactly one of two ways: a Remove that returns
// true, or one Lost.
func TestFault46RemoveOrLost(t *testing.T) {
	w := watchdog.New(watchdog.Config{
		Lease: 30 * time.Millisecond,
		Batch: 7,
		Renew: func(ctx context.Context, ts []watchdog.Target, _ time.Duration) []watchdog.Result {
			res := all(watchdog.Renewed, ts)
			for i := range res {
				switch rand.IntN(8) {
				case 0:
					res[i].Outcome = watchdog.NotOwner
				case 1:
					res[i].Outcome = watchdog.Failed
				}
			}
			if rand.IntN(20) == 0 {
				<-ctx.Done()
			}
			return res
		},
	})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			c := &contender{told: make(chan watchdog.Cause, 2)}
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				valid := time.Duration(rand.IntN(20)) * time.Millisecond
				w.Add(&c.Watch, target(1), c, watchdog.Schedule{
					ValidUntil: time.Now().Add(valid),
					Renew:      rand.IntN(4) > 0,
				})
				stay := time.NewTimer(time.Duration(rand.IntN(30)) * time.Millisecond)
				select {
				case <-stay.C:
				case cause := <-c.told:
					stay.Stop()
					c.told <- cause
				}
				w.Update(&c.Watch, watchdog.Schedule{ValidUntil: time.Now().Add(valid), Renew: rand.IntN(2) > 0})
				if w.Remove(&c.Watch) {
					if len(c.told) > 0 {
						t.Error("removed, and told of a loss")
						return
					}
					continue
				}
				<-c.told
			}
			if len(c.told) > 0 {
				t.Error("told of a loss twice, or after Remove")
			}
		})
	}
	wg.Wait()
	if w.Len() != 0 {
		t.Errorf("%d watched at the end", w.Len())
	}
	t.Logf("%+v", w.Stats())
	closeNow(t, w)
}

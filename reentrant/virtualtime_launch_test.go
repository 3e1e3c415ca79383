package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// roundTrip is what a script takes in these tests, on each connection.
const roundTrip = 50 * time.Millisecond

// busyClient makes a Client of which so many commands are on their way that the next one joins a batch.
func (v *virtual) busyClient(opts ...reentrant.Option) *reentrant.Client {
	v.t.Helper()
	c := v.client(append([]reentrant.Option{reentrant.WithLease(time.Minute)}, opts...)...)
	first := c.NewLock("first") // so that the scripts are known
	must(v.t, first.Lock(v.ctx))
	must(v.t, first.Unlock(v.ctx))
	v.scriptsTake(roundTrip)
	v.keepBusy(c)
	return c
}

// keepBusy sends four commands, as many as go alone (redisio.Combiner). They end a round trip later.
func (v *virtual) keepBusy(c *reentrant.Client) {
	v.t.Helper()
	var all sync.WaitGroup
	v.t.Cleanup(all.Wait)
	v.pass(time.Millisecond)
	for i := range 4 {
		all.Go(func() {
			l := c.NewLock(fmt.Sprintf("busy:%p:%d:%d", &all, i, time.Now().UnixNano()))
			if err := l.Lock(context.Background()); err == nil { // unless the Client closes
				must(v.t, l.Unlock(context.Background()))
			}
		})
	}
	synctest.Wait()
}

// A caller that leaves while its attempt is in a batch leaves at once, and the lock is given back.
func TestLaunchedAttemptIsLeft(t *testing.T) {
	for why, leave := range map[string]func(c *reentrant.Client, cancel context.CancelFunc){
		"ctx":   func(_ *reentrant.Client, cancel context.CancelFunc) { cancel() },
		"close": func(c *reentrant.Client, _ context.CancelFunc) { go c.Close(context.Background()) },
		"limit": func(*reentrant.Client, context.CancelFunc) { time.Sleep(roundTrip / 2) },
	} {
		t.Run(why, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.busyClient()
				ctx, cancel := context.WithCancel(v.ctx)
				defer cancel()
				result := make(chan error, 1)
				began := time.Now()
				go func() {
					_, err := c.NewLock("mine").TryLock(ctx, roundTrip/2, 0)
					result <- err
				}()
				synctest.Wait()
				leave(c, cancel)
				err := <-result
				if waited := time.Since(began); waited > roundTrip/2 {
					t.Errorf("the caller left after %v", waited)
				}
				if why != "limit" && !errors.Is(err, reentrant.ErrNotAcquired) {
					t.Errorf("the error is %v", err)
				}
				v.pass(time.Second)
				if v.mini.Exists("mine") {
					t.Error("the lock is held for nobody")
				}
			})
		})
	}
}

// An Unlock that leaves while its command is in a batch leaves at once, and the lock is freed.
func TestLaunchedReleaseIsLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.busyClient()
		l := c.NewLock("mine")
		must(t, l.Lock(v.ctx))
		v.pass(time.Second)
		v.keepBusy(c)
		ctx, cancel := context.WithTimeout(v.ctx, roundTrip/2)
		defer cancel()
		began := time.Now()
		err := l.Unlock(ctx)
		if waited := time.Since(began); waited != roundTrip/2 || !errors.Is(err, reentrant.ErrUnconfirmed) {
			t.Errorf("%v, after %v", err, waited)
		}
		v.pass(time.Second)
		if v.mini.Exists("mine") {
			t.Error("the lock was not freed")
		}
	})
}

// A server that has forgotten the scripts is sent them again.
func TestLaunchedScriptsForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.busyClient()
		must(t, v.rdb[0].ScriptFlush(v.ctx).Err())
		ctx, cancel := context.WithCancel(v.ctx)
		defer cancel()
		l := c.NewLock("mine")
		must(t, l.Lock(ctx))
		v.pass(time.Second)
		v.keepBusy(c)
		must(t, v.rdb[0].ScriptFlush(v.ctx).Err())
		must(t, l.Unlock(ctx))
		if v.mini.Exists("mine") {
			t.Error("the lock was not freed")
		}
	})
}

// An attempt, and then a release, in a batch that Redis refuses for a moment is sent again.
func TestLaunchedAndRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.busyClient()
		refuse := func() {
			began := time.Now()
			v.onCommand(func(cmd string, _ []string) string {
				if cmd != "EVALSHA" || time.Since(began) > 2*roundTrip {
					return ""
				}
				time.Sleep(roundTrip)
				return "LOADING of the test"
			})
		}
		ctx, cancel := context.WithCancel(v.ctx)
		defer cancel()
		l := c.NewLock("mine")
		refuse()
		must(t, l.Lock(ctx))
		v.scriptsTake(roundTrip)
		v.pass(time.Second)
		v.keepBusy(c)
		refuse()
		must(t, l.Unlock(ctx))
		v.pass(time.Second)
		if v.mini.Exists("mine") || c.Stats().Held != 0 {
			t.Error("the lock was not freed")
		}
	})
}

// The answer to an attempt in a batch comes after the end of its lease: the lock is given back.
func TestLaunchedAttemptIsTooLate(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.busyClient()
		ctx, cancel := context.WithCancel(v.ctx)
		defer cancel()
		hold := c.NewLock("mine")
		if ok, err := hold.TryLock(ctx, 0, roundTrip); ok || err == nil {
			t.Errorf("%v, %v", ok, err)
		}
		v.pass(time.Second)
		if v.mini.Exists("mine") || c.Stats().Held != 0 {
			t.Error("the lock is held for nobody")
		}
	})
}

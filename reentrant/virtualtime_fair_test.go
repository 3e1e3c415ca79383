package reentrant_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

const (
	fairQueue    = "redisson_lock_queue:{l}"
	fairTimeouts = "redisson_lock_timeout:{l}"
	fairChannel  = "redisson_lock__channel:{l}"
	fairLine     = "redlatch_epoch:{l}:line"

	// javaThread waits or holds as Redisson writes it.
	javaThread = "6e5cd5a0-1111-4222-8333-123456789abc:17"
)

// line is who stands in the line, each by what its owner is called.
func (v *virtual) line() (all []string) {
	v.t.Helper()
	for _, element := range v.rdb[0].LRange(v.ctx, fairQueue, 0, -1).Val() {
		_, owner, _ := strings.Cut(element, ":")
		owner, _, _ = strings.Cut(owner, "#")
		all = append(all, owner)
	}
	return all
}

func (v *virtual) wantLine(want ...string) {
	v.t.Helper()
	if got := v.line(); !slices.Equal(got, want) {
		v.t.Fatalf("the line is %q, want %q", got, want)
	}
	if n := v.rdb[0].ZCard(v.ctx, fairTimeouts).Val(); n != int64(len(want)) {
		v.t.Fatalf("%d scores for %d in the line", n, len(want))
	}
}

// farAway is a score that does not pass in a test.
func farAway() float64 { return float64(time.Now().Add(1000 * time.Hour).UnixMilli()) }

// fairHold takes the lock for a first owner.
func (v *virtual) fairHold(c *reentrant.Client) *reentrant.Hold {
	v.t.Helper()
	hold, err := c.NewFairLock("l").Acquire(owner(v.ctx, "first"))
	must(v.t, err)
	return hold
}

// Redisson's testTryLockLeaseTimeout: leases run out one after the other, and nobody unlocks.
func TestTimeFairLeasesRunOutInOrder(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		clients := []*reentrant.Client{v.client(), v.client(), v.client()}
		var g grants
		began := time.Now()
		for i := range 8 {
			l := clients[i%3].NewFairLock("l")
			g.wg.Go(func() {
				ok, err := l.TryLock(owner(v.ctx, "w"+strconv.Itoa(i)), 10*time.Second, time.Second)
				if !ok || err != nil {
					t.Error(i, ok, err)
				}
				g.add(i)
			})
			v.pass(10 * time.Millisecond)
		}
		g.want(t, 8)
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%v for 8 leases of 1 s", took)
		}
		v.wantLine()
	})
}

// Redisson's testMultipleLocks: 500 wait, each holds the lock for a while.
func TestTimeFairMany(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const waiters, each = 500, 200 * time.Millisecond
		clients := make([]*reentrant.Client, 10)
		for i := range clients {
			clients[i] = v.client()
		}
		hold := v.fairHold(clients[0])
		var g grants
		for i := range waiters {
			l := clients[rand.IntN(len(clients))].NewFairLock("l")
			g.wg.Go(func() {
				if err := l.Do(owner(v.ctx, "w"+strconv.Itoa(i)), func(context.Context) error {
					g.add(i)
					time.Sleep(each)
					return nil
				}); err != nil {
					t.Error(i, err)
				}
			})
			v.pass(5 * time.Millisecond)
		}
		began := time.Now()
		must(t, hold.Release(v.ctx))
		g.want(t, waiters)
		if took := time.Since(began); took > waiters*each+time.Second {
			t.Errorf("%v for %d holds of %v", took, waiters, each)
		}
		v.wantLine()
	})
}

// The scores of those who wait do not drift, however many are granted the lock, give up or come: Redisson drops nobody
// who is alive, and a dead one in time.
func TestTimeFairScoresDoNotDrift(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		clients := []*reentrant.Client{v.client(), v.client()}
		ctx, cancel := context.WithCancel(v.ctx)
		defer cancel()
		var g grants
		for i := range 12 { // each comes again and again, and gives up at times
			l := clients[i%2].NewFairLock("l")
			g.wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					wait := time.Minute
					if (n+i)%5 == 0 {
						wait = 2 * time.Second
					}
					if ok, _ := l.TryLock(owner(ctx, "w"+strconv.Itoa(i)), wait, 0); ok {
						time.Sleep(900 * time.Millisecond)
						_ = l.Unlock(owner(v.ctx, "w"+strconv.Itoa(i)))
					}
				}
			})
		}
		for range 60 {
			v.pass(7 * time.Second)
			owed, _ := v.rdb[0].HGet(v.ctx, fairLine, "owed").Int() // paid every 5 s, in which 6 get the lock and some give up
			if owed > 16 {
				t.Fatalf("%d places are owed", owed)
			}
			for k, z := range v.rdb[0].ZRangeWithScores(v.ctx, fairTimeouts, 0, -1).Val() {
				left := time.Until(time.UnixMilli(int64(z.Score)))
				if low, high := time.Duration(k)*5*time.Minute, time.Duration(k+2+owed)*5*time.Minute; left < low || left > high {
					t.Fatalf("the %d. may be dropped in %v, %d places are owed", k, left, owed)
				}
			}
		}
		cancel()
		g.wg.Wait()
		v.pass(time.Second)
		v.wantLine()
	})
}

// A wait of 0 neither gets a lock for which others wait, nor stands in the line.
func TestTimeFairTryYields(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold := v.fairHold(a)
		ok, err := b.NewFairLock("l").TryLock(owner(v.ctx, "try"), 0, 0)
		if ok || err != nil {
			t.Fatal(ok, err)
		}
		v.wantLine()
		v.rdb[0].RPush(v.ctx, fairQueue, javaThread)
		v.rdb[0].ZAdd(v.ctx, fairTimeouts, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: javaThread})
		must(t, hold.Release(v.ctx))
		for _, c := range []*reentrant.Client{a, b} {
			ok, err := c.NewFairLock("l").TryLock(owner(v.ctx, "try"), 0, 0)
			if ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		v.wantLine("17")
	})
}

// A lease ends for its holder a little before it ends in Redis. In between the same owner has the lock again at once, ahead
// of the line: it has never been free.
func TestTimeFairSameOwnerAfterItsLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		first := owner(v.ctx, "first")
		ok, err := a.NewFairLock("l").TryLock(first, 0, time.Second)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		var g grants
		g.wg.Go(func() {
			waiter := owner(v.ctx, "waiter")
			must(t, b.NewFairLock("l").Lock(waiter))
			g.add(0)
			must(t, b.NewFairLock("l").Unlock(waiter))
		})
		v.pass(100 * time.Millisecond)
		v.wantLine("waiter")
		v.rdb[0].PExpire(v.ctx, "l", time.Minute) // Redis' clock is slow
		v.pass(time.Second)
		wants(t, a.NewFairLock("l").Unlock(first), reentrant.ErrLost)
		began := time.Now()
		must(t, a.NewFairLock("l").Lock(first))
		if waited := time.Since(began); waited > 10*time.Millisecond {
			t.Errorf("waited for %v", waited)
		}
		v.wantLine("waiter")
		must(t, a.NewFairLock("l").Unlock(first))
		g.want(t, 1)
		v.wantLine()
	})
}

// A call that ends without the lock leaves the line, and so do all calls when their Client closes.
func TestTimeFairLeaves(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold := v.fairHold(a)
		var g grants
		for i, c := range []*reentrant.Client{a, b, b, a, b} {
			g.wg.Go(func() {
				wait := time.Minute
				if i%2 == 1 {
					wait = time.Second
				}
				ok, err := c.NewFairLock("l").TryLock(owner(v.ctx, "w"+strconv.Itoa(i)), wait, 0)
				if ok || i%2 == 1 && err != nil {
					t.Error(i, ok, err)
				}
			})
			v.pass(10 * time.Millisecond)
		}
		v.wantLine("w0", "w1", "w2", "w3", "w4")
		v.pass(time.Second)
		v.wantLine("w0", "w2", "w4")
		go func() { _ = a.Close(v.ctx) }() // it waits for the hold
		v.pass(time.Second)
		v.wantLine("w2", "w4")
		must(t, b.Close(v.ctx))
		v.wantLine()
		g.wg.Wait()
		must(t, hold.Release(v.ctx))
	})
}

// A process that died while it waited costs those behind it nothing.
func TestTimeFairDeadHead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold := v.fairHold(a)
		v.rdb[0].RPush(v.ctx, fairQueue, "dead:1#1", "dead:2#2")
		v.rdb[0].ZAdd(v.ctx, fairTimeouts, redis.Z{Score: farAway(), Member: "dead:1#1"}, redis.Z{Score: farAway(), Member: "dead:2#2"})
		var g grants
		g.wait(t, b.NewFairLock("l"), 0)
		v.pass(10 * time.Millisecond)
		began := time.Now()
		must(t, hold.Release(v.ctx))
		g.want(t, 1)
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("%v", took)
		}
	})
}

// A process that stands still when it is its turn costs a few seconds: it hears the message and does not come. So it is with a
// thread of Redisson that died.
func TestTimeFairAbsentHead(t *testing.T) {
	for element, most := range map[string]time.Duration{"stopped:1#1": 8 * time.Second, javaThread: 16 * time.Second} {
		t.Run(element, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				a, b := v.client(), v.client()
				hold := v.fairHold(a)
				v.rdb[0].RPush(v.ctx, fairQueue, element)
				v.rdb[0].ZAdd(v.ctx, fairTimeouts, redis.Z{Score: farAway(), Member: element})
				heard := v.rdb[1].Subscribe(v.ctx, fairChannel+":stopped", fairChannel+":"+javaThread)
				defer heard.Close()
				var g grants
				g.wait(t, a.NewFairLock("l"), 0)
				v.pass(10 * time.Millisecond)
				g.wait(t, b.NewFairLock("l"), 1)
				v.pass(time.Minute)
				began := time.Now()
				must(t, hold.Release(v.ctx))
				g.want(t, 2)
				if took := time.Since(began); took > most || took < 2*time.Second {
					t.Errorf("%v", took)
				}
			})
		})
	}
}

// The lock is free, its head is dead, and a thread of Redisson is behind it: that asks without a pause, until a call of Redlatch
// has the dead one dropped and the thread told. The call looks at a bounded rate, and has the lock if the thread does not come.
func TestTimeFairDeadHeadBeforeRedisson(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.rdb[0].RPush(v.ctx, fairQueue, "dead:1#1", javaThread)
		v.rdb[0].ZAdd(v.ctx, fairTimeouts, redis.Z{Score: farAway(), Member: "dead:1#1"}, redis.Z{Score: farAway(), Member: javaThread})
		heard := v.rdb[1].Subscribe(v.ctx, fairChannel+":"+javaThread)
		defer heard.Close()
		_, err := heard.Receive(v.ctx)
		must(t, err)
		var g grants
		began := time.Now()
		v.scripts()
		g.wait(t, v.client().NewFairLock("l"), 0)
		m, err := heard.ReceiveMessage(v.ctx)
		if must(t, err); m.Payload != "0" || time.Since(began) > 10*time.Millisecond {
			t.Errorf("after %v Redisson hears %q", time.Since(began), m.Payload)
		}
		g.want(t, 1)
		took := time.Since(began)
		if took < 10*time.Second || took > 16*time.Second {
			t.Errorf("taken after %v", took)
		}
		if n := v.scripts(); n > 3*int(took/time.Second) {
			t.Errorf("%d scripts in %v", n, took)
		}
	})
}

// Who was dropped while it waited, and is alive, comes before all who came later.
func TestTimeFairDroppedComeFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold := v.fairHold(v.client())
		var g grants
		for i, c := range []*reentrant.Client{a, a, a, b, a} {
			g.wait(t, c.NewFairLock("l"), i)
			v.pass(10 * time.Millisecond)
		}
		for range 2 {
			v.rdb[0].ZRem(v.ctx, fairTimeouts, v.rdb[0].LPop(v.ctx, fairQueue).Val())
		}
		v.wantLine("w2", "w3", "w4")
		v.pass(6 * time.Second)
		v.wantLine("w0", "w1", "w2", "w3", "w4")
		// Redis forgets all.
		v.rdb[0].Del(v.ctx, fairQueue, fairTimeouts)
		v.pass(6 * time.Second)
		line := v.line()
		if ofA := slices.DeleteFunc(slices.Clone(line), func(s string) bool { return s == "w3" }); len(line) != 5 || !slices.Equal(ofA, []string{"w0", "w1", "w2", "w4"}) {
			t.Errorf("%q", line)
		}
		must(t, hold.Release(v.ctx))
		g.wg.Wait()
		v.wantLine()
	})
}

// Go and Redisson tell each other: a release by Redisson goes to the channel of the ticket, one of ours to the thread's.
func TestTimeFairBesideRedisson(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithLease(30 * time.Second))
		rdb := v.rdb[0]
		rdb.HSet(v.ctx, "l", javaThread, "1")
		rdb.PExpire(v.ctx, "l", time.Minute)
		got := make(chan *reentrant.Hold, 1)
		go func() {
			hold, err := c.NewFairLock("l").Acquire(owner(v.ctx, "me"))
			if err != nil {
				t.Error(err)
			}
			got <- hold
		}()
		v.pass(20 * time.Millisecond)
		head := rdb.LIndex(v.ctx, fairQueue, 0).Val()
		rdb.Del(v.ctx, "l")
		if n := rdb.Publish(v.ctx, fairChannel+":"+head, "0").Val(); n != 1 {
			t.Fatalf("%d hear what Redisson says to %q", n, head)
		}
		synctest.Wait()
		hold := <-got
		heard := v.rdb[1].Subscribe(v.ctx, fairChannel+":"+javaThread)
		defer heard.Close()
		_, err := heard.Receive(v.ctx)
		must(t, err)
		rdb.RPush(v.ctx, fairQueue, javaThread)
		rdb.ZAdd(v.ctx, fairTimeouts, redis.Z{Score: farAway(), Member: javaThread})
		go func() {
			next, err := c.NewFairLock("l").Acquire(owner(v.ctx, "you"))
			if err != nil {
				t.Error(err)
			}
			got <- next
		}()
		v.pass(20 * time.Millisecond)
		must(t, hold.Release(v.ctx))
		m, err := heard.ReceiveMessage(v.ctx)
		if must(t, err); m.Payload != "0" {
			t.Errorf("Redisson hears %q", m.Payload)
		}
		v.pass(time.Second)
		if fields := v.fields("l"); len(fields) != 0 {
			t.Fatalf("not Redisson's turn: %v", fields)
		}
		info, err := c.NewFairLock("l").Info(v.ctx)
		must(t, err)
		if len(info.Waiters) != 2 || info.Waiters[0].From != reentrant.FromJava || info.Waiters[1].Owner != "you" || !info.Waiters[1].Here {
			t.Errorf("%v", info)
		}
		rdb.LPop(v.ctx, fairQueue) // its tryLock has timed out; Redisson tells nobody
		rdb.ZRem(v.ctx, fairTimeouts, javaThread)
		must(t, (<-got).Release(v.ctx))
	})
}

// Calls with limits and cancellations of several Clients, with holds that are released, lost, or run out, get the lock in the
// order in which they came.
func TestTimeFairRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			r := rand.New(rand.NewPCG(seed, 1))
			clients := []*reentrant.Client{v.client(), v.client(reentrant.WithHandoff(reentrant.WriteBehind)), v.client(reentrant.WithHandoff(reentrant.Remote))}
			var g grants
			for i := range 60 {
				l := clients[r.IntN(len(clients))].NewFairLock("l")
				wait, lease, held, stays := time.Minute, time.Duration(0), time.Duration(r.IntN(200))*time.Millisecond, r.IntN(8) == 0
				if r.IntN(3) == 0 {
					wait = time.Duration(r.IntN(3000)) * time.Millisecond
				}
				if stays || r.IntN(3) == 0 {
					lease = time.Duration(50+r.IntN(200)) * time.Millisecond
				}
				g.wg.Go(func() {
					me := owner(v.ctx, "w"+strconv.Itoa(i))
					ok, err := l.TryLock(me, wait, lease)
					if err != nil {
						t.Error(i, err)
					}
					if !ok {
						return
					}
					g.add(i)
					time.Sleep(held)
					if !stays {
						_ = l.Unlock(me) // its lease may be over
					}
				})
				v.pass(time.Duration(5+r.IntN(100)) * time.Millisecond)
				if r.IntN(20) == 0 {
					_, err := l.ForceUnlock(v.ctx)
					must(t, err)
				}
			}
			g.wg.Wait()
			if !slices.IsSorted(g.order) {
				t.Errorf("seed %d: not in order: %v", seed, g.order)
			}
			v.pass(time.Second)
			v.wantLine()
		})
	}
}

// Redis takes its time to subscribe a Client. Until then Redis is not told of its waiters: a release would find nobody who
// listens, and drop them, and a waiter that came later would have the lock before them.
func TestTimeFairLinesUpOnceItListens(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b, c := v.client(), v.client(), v.client()
		hold := v.fairHold(a)
		v.onCommand(func(cmd string, args []string) string {
			if cmd == "SUBSCRIBE" && strings.HasSuffix(args[0], b.ID()) {
				time.Sleep(50 * time.Millisecond)
			}
			return ""
		})
		var g grants
		locks := func(c *reentrant.Client, i int) {
			g.wg.Go(func() {
				if err := c.NewFairLock("l").Lock(owner(v.ctx, "w"+strconv.Itoa(i))); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 3 {
			locks(b, i)
			v.pass(5 * time.Millisecond)
		}
		v.wantLine()
		v.pass(60 * time.Millisecond)
		v.wantLine("w0", "w1", "w2")
		locks(c, 3)
		v.pass(20 * time.Millisecond)
		v.wantLine("w0", "w1", "w2", "w3")
		must(t, hold.Release(v.ctx))
		for i, of := range []*reentrant.Client{b, b, b, c} {
			v.pass(5 * time.Millisecond)
			must(t, of.NewFairLock("l").Unlock(owner(v.ctx, "w"+strconv.Itoa(i))))
		}
		g.wg.Wait()
	})
}

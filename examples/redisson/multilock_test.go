//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// joined is three servers with both sides on all of them: Redisson's MultiLock and
// RedLock in a JVM, and ours.
type joined struct {
	servers []*redistest.Server
	java    *peer
}

// TestMultiLocks: a MultiLock of Redisson's and one of ours over the same three servers
// exclude each other, and so do its RedLock and our quorum.
func TestMultiLocks(t *testing.T) {
	j := &joined{}
	var addrs []string
	for range 3 {
		s := redistest.Start(t)
		j.servers = append(j.servers, s)
		addrs = append(addrs, s.Addr())
	}
	j.java = startPeer(t, strings.Join(addrs, ","))
	for _, kind := range []struct {
		name  string
		build func([]multilock.Locker) (*multilock.MultiLock, error)
	}{
		{"joined", func(locks []multilock.Locker) (*multilock.MultiLock, error) { return multilock.NewWith(locks) }},
		{"red", func(locks []multilock.Locker) (*multilock.MultiLock, error) {
			return multilock.NewQuorumWith(locks, multilock.WithoutQuarantine()) // the servers are new
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for _, c := range []struct {
				name string
				test func(t *testing.T, j *joined, kind, name string, build func(reverse bool) *multilock.MultiLock)
			}{
				{"JavaHolds", testJavaHoldsAll},
				{"GoHolds", testGoHoldsAll},
				{"Contest", testJoinedContest},
			} {
				t.Run(c.name, func(t *testing.T) {
					name := kind.name + ":" + c.name
					c.test(t, j, kind.name, name, func(reverse bool) *multilock.MultiLock {
						var locks []multilock.Locker
						for _, s := range j.servers {
							locks = append(locks, newClient(t, s.Client(t)).NewLock(name))
						}
						if reverse {
							slices.Reverse(locks)
						}
						l, err := kind.build(locks)
						must(t, err)
						return l
					})
					j.wantFree(t, name)
				})
			}
		})
	}
}

// holders are the fields of the lock's hash on each server.
func (j *joined) holders(t testing.TB, name string) (holders []string) {
	t.Helper()
	for _, s := range j.servers {
		fields, err := s.Admin().HKeys(context.Background(), name).Result()
		must(t, err)
		holders = append(holders, strings.Join(fields, ","))
	}
	return holders
}

func (j *joined) wantFree(t testing.TB, name string) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, name+" to be free on every server", func() bool {
		return strings.Join(j.holders(t, name), "") == ""
	})
}

func testJavaHoldsAll(t *testing.T, j *joined, kind, name string, build func(bool) *multilock.MultiLock) {
	ctx, cancel := context.WithTimeout(t.Context(), answerWithin)
	defer cancel()
	l := build(true)
	j.java.do(t, kind+" lock", name, 7)
	if held := j.holders(t, name); slices.Contains(held, "") {
		t.Fatalf("Redisson holds %q", held)
	}
	for _, wait := range []time.Duration{0, 300 * time.Millisecond} {
		if ok, err := l.TryLock(ctx, wait, 0); ok || err != nil {
			t.Errorf("TryLock(%v) while Redisson holds it: %v, %v", wait, ok, err)
		}
	}
	waiter := begin(func() error { return l.Lock(reentrant.WithOwner(ctx, "o")) })
	select {
	case a := <-waiter:
		t.Fatalf("Lock returned %v while Redisson holds it", a.err)
	case <-time.After(200 * time.Millisecond):
	}
	released := time.Now()
	j.java.do(t, kind+" unlock", name, 7)
	a := await(t, waiter, answerWithin)
	must(t, a.err)
	t.Logf("Go has it %v after Redisson's unlock began", a.at.Sub(released))
	must(t, l.Unlock(reentrant.WithOwner(ctx, "o")))
}

func testGoHoldsAll(t *testing.T, j *joined, kind, name string, build func(bool) *multilock.MultiLock) {
	ctx, cancel := context.WithTimeout(t.Context(), answerWithin)
	defer cancel()
	l := build(false)
	must(t, l.Lock(ctx))
	must(t, l.Lock(ctx)) // nested
	j.java.want(t, false, kind+" tryLock", name, 7, 0, -1)
	j.java.want(t, false, kind+" tryLock", name, 7, 300, -1)
	waiter := j.java.begin(t, kind+" lock", name, 7)
	must(t, l.Unlock(ctx))
	j.java.want(t, false, kind+" tryLock", name, 8, 300, -1)
	released := time.Now()
	must(t, l.Unlock(ctx))
	a := await(t, waiter, answerWithin)
	must(t, a.err)
	t.Logf("Redisson has it %v after Go's Unlock began", a.at.Sub(released))
	if ok, err := l.TryLock(ctx, 0, 0); ok || err != nil {
		t.Errorf("TryLock while Redisson holds it: %v, %v", ok, err)
	}
	j.java.do(t, kind+" unlock", name, 7)
}

// Threads of a JVM and goroutines with their members in opposite orders raise one
// number, with a GET and a SET that only the lock protects.
func testJoinedContest(t *testing.T, j *joined, kind, name string, build func(bool) *multilock.MultiLock) {
	const (
		workers = 2 // of each side
		rounds  = 15
	)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	key := name + ":number"
	rdb := j.servers[0].Client(t)
	must(t, rdb.Set(ctx, key, 0, time.Minute).Err())
	fromJava := j.java.begin(t, kind+" count-up", name, workers, 1, rounds, key)
	fromGo := make(chan error, workers)
	for i := range workers {
		l := build(i%2 == 1)
		go func() {
			for range rounds {
				err := l.Do(ctx, func(ctx context.Context) error {
					n, err := rdb.Get(ctx, key).Int()
					if err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
					return rdb.Set(ctx, key, n+1, time.Minute).Err()
				})
				if err != nil {
					fromGo <- fmt.Errorf("go %d: %w", i, err)
					return
				}
			}
			fromGo <- nil
		}()
	}
	for range workers {
		must(t, await(t, fromGo, 60*time.Second))
	}
	a := await(t, fromJava, 60*time.Second)
	must(t, a.err)
	got, err := rdb.Get(ctx, key).Result()
	must(t, err)
	if want := strconv.Itoa(2 * workers * rounds); got != want {
		t.Errorf("counted to %s, want %s", got, want)
	}
	turns := javaTurns(t, a.value)
	t.Logf("counted to %s; Redisson took %v for its part", got, time.Duration(turns[len(turns)-1].left-turns[0].began)*time.Microsecond)
}

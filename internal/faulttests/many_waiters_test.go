package faulttests

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// calledOn is how often a server was sent a command.
func calledOn(t testing.TB, s *redistest.Server, command string) int {
	t.Helper()
	calls, _, _ := strings.Cut(strings.TrimPrefix(s.Info(t, "commandstats", "cmdstat_"+command), "calls="), ",")
	n, _ := strconv.Atoi(calls) // never called: 0
	return n
}

// Ten thousand calls wait for one lock, all in one Client, and then a thousand in each of
// ten. They cost a subscription connection for each Client and next to no commands
// while they wait, and about one command for each turn: nobody's release wakes them all.
// With write-behind hand-off, which is for one Client, it is far less than one. Every
// call has its turn.
func TestFault48TenThousandWaiters(t *testing.T) {
	t.Parallel()
	all := 10_000
	if testing.Short() {
		all = 1000
	}
	for _, test := range []struct {
		clients int
		opts    []reentrant.Option
		most    int // scripts
	}{
		{1, []reentrant.Option{locktest.WriteBehind}, all / 4},
		{10, nil, 2 * all},
	} {
		clients := test.clients
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			s := redistest.Start(t)
			holder, me := faultClient(t, s.Client(t)), owner(t.Context(), "holder")
			must(t, holder.NewLock("l").Lock(me))
			var waiting []*reentrant.Client
			for range clients {
				waiting = append(waiting, faultClient(t, s.Client(t), test.opts...))
			}
			inside, turns := 0, 0 // guarded by the lock
			var group sync.WaitGroup
			var longest latencies
			for i := range all {
				l := waiting[i%clients].NewLock("l")
				group.Go(func() {
					began := time.Now()
					if err := l.Lock(t.Context()); err != nil {
						t.Errorf("Lock: %v", err)
						return
					}
					longest.add(time.Since(began))
					if inside++; inside != 1 {
						t.Errorf("%d are inside", inside)
					}
					turns++
					inside--
					if err := l.Unlock(t.Context()); err != nil {
						t.Errorf("Unlock: %v", err)
					}
				})
			}
			redistest.Eventually(t, 60*time.Second, "all wait, and are registered", func() bool {
				n := 0
				for _, c := range waiting {
					n += c.Stats().Waiting
				}
				return n == all && s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == int64(clients)
			})
			if got := strings.Count(s.Do(t, "CLIENT", "LIST", "TYPE", "pubsub").(string), "\n"); got != clients {
				t.Errorf("%d subscription connections for %d Clients", got, clients)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			idle := calledOn(t, s, "evalsha")
			began := time.Now()
			<-time.After(500 * time.Millisecond)
			polled := calledOn(t, s, "evalsha") - idle
			// A poll a second for each Client at first, fewer later; renewals; no more for more waiters.
			if most := 4 * (clients + 1) * int(1+time.Since(began)/time.Second); polled > most {
				t.Errorf("%d scripts in %v of waiting", polled, time.Since(began))
			}
			before := calledOn(t, s, "evalsha")
			began = time.Now()
			must(t, holder.NewLock("l").Unlock(me))
			group.Wait()
			took := time.Since(began)
			sent := calledOn(t, s, "evalsha") - before
			t.Logf("%d turns in %v, %d scripts; waits %v; heap and stacks %d MB", turns, took, sent, &longest, (m.HeapInuse+m.StackInuse)>>20)
			if turns != all {
				t.Errorf("%d of %d had a turn", turns, all)
			}
			if sent > test.most+4*(clients+1)*int(1+took/time.Second) { // polls and renewals
				t.Errorf("%d scripts for %d turns", sent, all)
			}
			for _, c := range waiting {
				locktest.CloseQuickly(t, c)
			}
			locktest.CloseQuickly(t, holder)
			locktest.TidyWithin(t, s, 3*time.Second, "l")
		})
	}
}

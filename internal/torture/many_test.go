//go:build torture

package torture

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// memory is the heap in use once everything that is garbage has gone.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// every so many names are waited for, too.
const every = 200

// pair is two Clients, the second of which waits for what the first has.
type pair struct {
	t             *testing.T
	holds, awaits *reentrant.Client
	turn          sync.Mutex // held over one wait, so that the subscription counted is its own
}

// A million names, each locked and released once, some of them waited for by another Client.
// Memory and goroutines are afterwards what they were after the first few thousand.
func TestNames(t *testing.T) {
	const (
		names   = 1_000_000
		first   = 10_000
		callers = 64
		leak    = 16 << 20 // 17 bytes for each name: less than the least queue
	)
	s := redistest.Start(t)
	p := &pair{t: t, holds: newClient(t, s), awaits: newClient(t, s)}
	idle := func() {
		redistest.Eventually(t, patience, "nothing is held, waited for or listened to", func() bool {
			h, a := p.holds.Stats(), p.awaits.Stats()
			return h.Held+h.Waiting+h.Subscriptions+a.Held+a.Waiting+a.Subscriptions == 0
		})
	}
	began := time.Now()
	p.span(callers, 0, first)
	idle()
	before, goroutines := memory(), runtime.NumGoroutine()
	p.span(callers, first, names)
	idle()
	redistest.Eventually(t, patience, "no goroutine more", func() bool { return runtime.NumGoroutine() <= goroutines })
	after := memory()
	t.Logf("%d names in %v, %d of them waited for and %d waiters woken by a message: heap %d KB after %d of them, %d KB after all; %d goroutines, then %d",
		names, time.Since(began).Round(time.Second), p.awaits.Stats().Acquired, p.awaits.Stats().WakeUps.Message,
		before>>10, first, after>>10, goroutines, runtime.NumGoroutine())
	if after > before+leak {
		t.Errorf("the heap has grown by %d KB", (after-before)>>10)
	}
	if held, waited := p.holds.Stats().Acquired, p.awaits.Stats(); held != names || waited.Acquired != names/every || waited.WakeUps.Message == 0 {
		t.Errorf("%d and %d grants, want %d and %d; %+v", held, waited.Acquired, names, names/every, waited.WakeUps)
	}
	left := 0
	for _, key := range s.Do(t, "KEYS", "*").([]any) {
		if strings.HasPrefix(key.(string), "name-") {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d locks are left", left)
	}
}

// span locks and releases the names of those numbers.
func (p *pair) span(callers, from, to int) {
	var next atomic.Int64
	next.Store(int64(from))
	var crowd sync.WaitGroup
	for range callers {
		crowd.Go(func() {
			for i := int(next.Add(1) - 1); i < to; i = int(next.Add(1) - 1) {
				if err := p.once(i); err != nil {
					p.t.Errorf("name %d: %v", i, err)
					return
				}
			}
		})
	}
	crowd.Wait()
}

func (p *pair) once(i int) error {
	ctx, name := p.t.Context(), fmt.Sprintf("name-%d", i)
	l := p.holds.NewLock(name)
	if i%every != 0 {
		if err := l.Lock(ctx); err != nil {
			return err
		}
		return l.Unlock(ctx)
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	before, got := p.awaits.Stats().WakeUps.Subscribed, make(chan error, 1)
	go func() {
		l := p.awaits.NewLock(name)
		err := l.Lock(ctx)
		if err == nil {
			err = l.Unlock(ctx)
		}
		got <- err
	}()
	for p.awaits.Stats().WakeUps.Subscribed == before && len(got) == 0 { // got: it has failed
		time.Sleep(100 * time.Microsecond)
	}
	if err := l.Unlock(ctx); err != nil {
		return err
	}
	return <-got
}

// 64,000 calls of four Clients wait for one lock. Each has its turn, one at a time.
func TestWaiters(t *testing.T) {
	const (
		clients = 4
		all     = 64_000
	)
	s := redistest.Start(t)
	holder := newClient(t, s)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, holder.NewLock("l").Lock(me))
	var waiting []*reentrant.Client
	for range clients {
		waiting = append(waiting, newClient(t, s))
	}
	goroutines := runtime.NumGoroutine()
	inside, turns := 0, 0 // guarded by the lock
	var crowd sync.WaitGroup
	for i := range all {
		l := waiting[i%clients].NewLock("l")
		crowd.Go(func() {
			if err := l.Lock(t.Context()); err != nil {
				t.Errorf("Lock: %v", err)
				return
			}
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
	redistest.Eventually(t, 2*patience, "all wait", func() bool {
		n := 0
		for _, c := range waiting {
			n += c.Stats().Waiting
		}
		return n == all
	})
	began := time.Now()
	must(t, holder.NewLock("l").Unlock(me))
	crowd.Wait()
	t.Logf("%d turns of %d in %v", turns, all, time.Since(began).Round(time.Millisecond))
	if turns != all {
		t.Errorf("%d turns", turns)
	}
	redistest.Eventually(t, patience, "the Clients' goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+2*clients })
	tidy(t, s, "l")
}

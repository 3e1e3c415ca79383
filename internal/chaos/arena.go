package chaos

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// lease is short, so that it ends often enough under all this; renewals are a third apart.
const lease = 600 * time.Millisecond

// arena is what lasts over the rounds: the server, the clients, and the log.
type arena struct {
	tb      testing.TB
	seed    uint64
	targets []target // the locks that all fight for
	server  *redistest.Server
	members []*member
	log     *history.Log
	highest map[string]int64 // tokens issued so far, by lock

	operator *reentrant.Client // frees locks by force; goes around the proxies
	sampled  bool              // only faults that MONITOR survives
	look     *redis.Client     // reads what is in Redis; goes around the proxies
	always   context.Context   // ends with the test

	hits   atomic.Int64           // requests that rules of the proxies acted on
	linger atomic.Pointer[string] // the lock whose holders are to keep it for long

	// down is held while the server is struck. Requests that are kept back are released
	// when it is not.
	down sync.Mutex
	kept map[*faultproxy.RuleHandle]bool // guarded by down
}

func newArena(t testing.TB, seed uint64, targets []target) *arena {
	t.Helper()
	a := &arena{
		tb: t, seed: seed, targets: targets, log: history.New(), highest: make(map[string]int64),
		server: redistest.Start(t, redistest.WithAOF(), redistest.WithConfig("lua-time-limit 50")),
		always: t.Context(),
		kept:   make(map[*faultproxy.RuleHandle]bool),
	}
	patient := func(o *redis.Options) { o.ReadTimeout, o.ClientName = 5*time.Second, "chaos-look" }
	a.look = a.server.Client(t, patient)
	operator, err := reentrant.New(a.server.Client(t, patient))
	if err != nil {
		t.Fatal(err)
	}
	a.operator = operator
	for n := range memberOptions {
		a.members = append(a.members, newMember(a, n))
	}
	return a
}

// admin runs a command at a server that is up. Its own connection may be gone, by a
// restart or by what was done to all connections.
func (a *arena) admin(args ...any) {
	var err error
	for range 8 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err = a.server.Admin().Do(ctx, args...).Err()
		cancel()
		if err == nil {
			return
		}
	}
	a.tb.Errorf("chaos: %v: %v", args, err)
}

// forceUnlock frees a lock, with both sides if it has two.
func (a *arena) forceUnlock(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	t := a.targets[slices.IndexFunc(a.targets, func(t target) bool { return t.name == name })]
	for _, side := range t.sides() {
		if _, err := t.lock(a.operator, side).ForceUnlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isHeld reports whether somebody works with a lock.
func (a *arena) isHeld(lock string) bool {
	return slices.ContainsFunc(a.members, func(m *member) bool { return m.has([]string{lock}, nil) })
}

// keep puts a rule in force that keeps requests back.
func (a *arena) keep(proxy *faultproxy.Proxy, rule faultproxy.Rule) *faultproxy.RuleHandle {
	a.down.Lock()
	defer a.down.Unlock()
	h := proxy.Add(rule)
	a.kept[h] = true
	return h
}

// releaseOne ends such a rule and has the requests run that it kept, unless releaseKept
// has.
func (a *arena) releaseOne(h *faultproxy.RuleHandle) {
	a.down.Lock()
	defer a.down.Unlock()
	if a.kept[h] {
		a.releaseLocked(h)
	}
}

// releaseKept is releaseOne for all of them. The caller has down.
func (a *arena) releaseKept() {
	for h := range a.kept {
		a.releaseLocked(h)
	}
}

func (a *arena) releaseLocked(h *faultproxy.RuleHandle) {
	delete(a.kept, h)
	h.Remove()
	h.Release()
}

// sent is how many requests of scripts the members have sent so far, whatever became of
// them.
func (a *arena) sent() (n int) {
	for _, m := range a.members {
		n += m.proxy.Commands("EVALSHA") + m.proxy.Commands("EVAL")
	}
	return n
}

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/reentrant"
)

// memberOptions are the ways in which the members differ: the hand-off, and how their
// go-redis client is set up.
var memberOptions = []struct {
	handoff reentrant.Handoff
	redis   func(*redis.Options)
}{
	{reentrant.Confirmed, func(o *redis.Options) { o.ReadTimeout = 150 * time.Millisecond }},
	{reentrant.WriteBehind, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 100*time.Millisecond, -1 }},
	{reentrant.Remote, func(o *redis.Options) { o.ReadTimeout, o.Protocol = 200*time.Millisecond, 2 }},
	{reentrant.WriteBehind, func(o *redis.Options) { o.ReadTimeout, o.PoolSize = 100*time.Millisecond, 3 }},
	{reentrant.Confirmed, func(o *redis.Options) {
		o.ReadTimeout, o.ContextTimeoutEnabled, o.MaxRetries = 300*time.Millisecond, true, 1
	}},
}

// member is one process, so to speak: a go-redis client behind a proxy of its own, and the
// Client on it, which may be closed and replaced.
type member struct {
	n       int
	log     *history.Log
	proxy   *faultproxy.Proxy
	rdb     *redis.Client
	name    string // of its connections
	handoff reentrant.Handoff

	mu      sync.Mutex
	client  *reentrant.Client   // guarded by mu
	made    int                 // guarded by mu: how many Clients there were
	retired []*reentrant.Client // guarded by mu: closed, but perhaps not to the end
	held    map[string]int64    // guarded by mu: the present hold of each lock and owner's field
	awaited []string            // guarded by mu: the arguments of a request that is kept back
}

func newMember(a *arena, n int) *member {
	options := memberOptions[n]
	m := &member{
		n: n, log: a.log, name: fmt.Sprintf("chaos-%d", n), handoff: options.handoff,
		proxy: faultproxy.Start(a.tb, a.server.Addr()), held: make(map[string]int64),
	}
	m.rdb = a.server.Client(a.tb, options.redis, func(o *redis.Options) { o.Addr, o.ClientName = m.proxy.Addr(), m.name })
	m.renew(a.tb)
	return m
}

// renew puts a new Client in the place of the present one, and returns that.
func (m *member) renew(tb testing.TB) (old *reentrant.Client) {
	client, err := reentrant.New(m.rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil), reentrant.WithHandoff(m.handoff),
		reentrant.WithEvents(reentrant.Events{Renewed: m.renewed}))
	if err != nil {
		tb.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, m.client = m.client, client
	m.made++
	if old != nil {
		m.retired = append(m.retired, old)
	}
	return old
}

// replace closes the Client under those who use it.
func (m *member) replace(tb testing.TB, patience time.Duration) {
	old := m.renew(tb)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = old.Close(ctx) // if it had not the time, bury has
}

// bury ends what was left of Clients that were closed. It returns an error if
// anything is still in use long after.
func (m *member) bury(ctx context.Context) error {
	m.mu.Lock()
	retired := m.retired
	m.retired = nil
	clear(m.held)
	m.mu.Unlock()
	for _, c := range retired {
		if err := c.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// current is the Client to use, and what its owners' names begin with.
func (m *member) current() (c *reentrant.Client, prefix string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.client, fmt.Sprintf("%d.%d/", m.n, m.made)
}

// renewed notes a renewal. It is an event, which must not call the Client.
func (m *member) renewed(e reentrant.Event) {
	m.mu.Lock()
	id := m.held[e.Name+" "+e.Owner]
	m.mu.Unlock()
	if id != 0 {
		m.log.Add(history.Op{Kind: history.Renewed, Client: m.n, Owner: e.Owner, Lock: e.Name, Hold: id,
			Outcome: history.OK, ValidUntil: m.log.At(e.ValidUntil)})
	}
}

// holds notes that a hold begins, which renewals are about from now on, or 0 if it ends.
// It reports whether the owner is to take its time, for a request that is kept back until
// it is there.
func (m *member) holds(lock string, hold *reentrant.Hold, id int64) (awaited bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := lock + " " + hold.Owner()
	if id == 0 {
		delete(m.held, key)
	} else {
		m.held[key] = id
	}
	return slices.Contains(m.awaited, lock) && slices.Contains(m.awaited, hold.Owner())
}

// await asks owners to take their time when they have the lock that a request with those
// arguments is about, and is for them. again reports whether one has it.
func (m *member) await(args []string) (again func() bool) {
	m.mu.Lock()
	m.awaited = args
	m.mu.Unlock()
	return func() bool { return m.has(args, args) }
}

// has reports whether one of the locks is held by one of the owners, or by anybody if there
// are none.
func (m *member) has(locks, owners []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.held {
		lock, owner, _ := strings.Cut(key, " ")
		if slices.Contains(locks, lock) && (owners == nil || slices.Contains(owners, owner)) {
			return true
		}
	}
	return false
}

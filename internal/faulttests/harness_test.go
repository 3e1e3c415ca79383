package faulttests

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// What stands in every other line has a short name.
var (
	must        = locktest.Must
	wants       = locktest.Wants
	ended       = locktest.Ended
	owner       = locktest.Owner
	asHolder    = locktest.AsHolder
	faultClient = locktest.FaultClient
)

// faultRig is a server with a proxy before it. The server's own clients go around
// the proxy and see what is really there.
type faultRig struct {
	*redistest.Server
	proxy *faultproxy.Proxy
}

func newFaultRig(t testing.TB, opts ...redistest.Option) *faultRig {
	t.Helper()
	s := redistest.Start(t, opts...)
	return &faultRig{Server: s, proxy: faultproxy.Start(t, s.Addr())}
}

// through returns a go-redis client that goes through the proxy, with go-redis'
// defaults (three retries among them) unless mods change them.
func (r *faultRig) through(t testing.TB, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	mods = append([]func(*redis.Options){func(o *redis.Options) { o.Addr = r.proxy.Addr() }}, mods...)
	return r.Client(t, mods...)
}

// warm has the server learn every script but renew. One that is kept back as EVALSHA and
// executed before anybody has sent its source would change nothing for that reason.
func (r *faultRig) warm(t testing.TB) *faultRig {
	t.Helper()
	c := faultClient(t, r.Client(t))
	l := c.NewLock("warm")
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	must(t, l.Lock(me))
	must(t, l.Lock(me))
	must(t, l.Unlock(me))
	handed := make(chan error, 1)
	go func() { handed <- l.Lock(you) }()
	redistest.Eventually(t, 10*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	must(t, l.Unlock(me))
	must(t, locktest.InTime(t, 10*time.Second, "a hand-off", handed))
	must(t, l.Unlock(you))
	_, err := l.ForceUnlock(me)
	must(t, err)
	return r
}

// held is what Redis says of a lock, by way of the clean connection: the hold
// count of each owner.
func (r *faultRig) held(t testing.TB, name string) map[string]string {
	t.Helper()
	return locktest.Held(t, r.Server, name)
}

// scriptIs picks the requests that run one of these scripts of the library.
func scriptIs(names ...string) func(args []string) bool {
	return func(args []string) bool {
		got := locktest.ScriptOf(args)
		for _, name := range names {
			if got == name {
				return true
			}
		}
		return false
	}
}

func anyScript(args []string) bool { return locktest.ScriptOf(args) != "" }

// follows waits until the hash has the one field of the hold and the count.
func follows(t testing.TB, s *redistest.Server, name string, h *reentrant.Hold, count string) {
	t.Helper()
	redistest.Eventually(t, 5*time.Second, "the hash follows the holder", func() bool {
		got := locktest.Held(t, s, name)
		return len(got) == 1 && got[h.Owner()] == count
	})
}

// inBackground begins a call on a goroutine of its own, which ends with the call.
func inBackground(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
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
	okay(t, l.Lock(me))
	okay(t, l.Lock(me))
	okay(t, l.Unlock(me))
	handed := make(chan error, 1)
	go func() { handed <- l.Lock(you) }()
	redistest.Eventually(t, 10*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	okay(t, l.Unlock(me))
	okay(t, inTime(t, 10*time.Second, "a hand-off", handed))
	okay(t, l.Unlock(you))
	_, err := l.ForceUnlock(me)
	okay(t, err)
	return r
}

// impatience is for replies that never come.
func impatience(d time.Duration) func(*redis.Options) {
	return func(o *redis.Options) { o.ReadTimeout = d }
}

// faultClient makes a Client that is closed with the test, whatever it holds.
func faultClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(rdb, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { abandonClient(c) })
	return c
}

// abandonClient closes a Client without waiting for its holds.
func abandonClient(c *reentrant.Client) {
	for _, patience := range []time.Duration{time.Millisecond, 15 * time.Second} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := c.Close(ctx)
		cancel()
		if err == nil {
			return
		}
	}
}

// closeQuickly is for the end of a test in which everything was released: Close
// has nothing to wait for.
func closeQuickly(t testing.TB, c *reentrant.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	start := time.Now()
	if err := c.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("Close took %v with nothing held", d)
	}
}

// held is what Redis says of a lock, by way of the clean connection: the hold
// count of each owner.
func (r *faultRig) held(t testing.TB, name string) map[string]string {
	t.Helper()
	return heldOn(t, r.Server, name)
}

func heldOn(t testing.TB, s *redistest.Server, name string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m, err := s.Admin().HGetAll(ctx, name).Result()
	if err != nil {
		t.Errorf("HGETALL %s: %v", name, err) // not Fatal: it is not always the test's goroutine
	}
	return m
}

// freeWithin waits until the lock's key is gone.
func freeWithin(t testing.TB, s *redistest.Server, within time.Duration, name string) {
	t.Helper()
	redistest.Eventually(t, within, fmt.Sprintf("lock %s is free", name), func() bool {
		return len(heldOn(t, s, name)) == 0
	})
}

// tidyWithin checks what must hold when everybody has gone: no lock is left, every
// key of ours has a TTL, nobody is subscribed.
func tidyWithin(t testing.TB, s *redistest.Server, within time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		freeWithin(t, s, within, name)
	}
	for _, key := range s.Do(t, "KEYS", "*").([]any) {
		key := key.(string)
		if strings.HasPrefix(key, "redisson_lock_token:") {
			continue // the counter is meant to last
		}
		if ttl := s.Do(t, "PTTL", key).(int64); ttl == -1 {
			t.Errorf("key %s has no TTL", key)
		}
	}
	redistest.Eventually(t, within, "no channel is subscribed", func() bool {
		return len(s.Do(t, "PUBSUB", "CHANNELS", "*").([]any)) == 0
	})
}

// scriptIs picks the requests that run one of the library's scripts, by what tells
// their arguments apart: the sources are no public matter.
func scriptIs(names ...string) func(args []string) bool {
	return func(args []string) bool {
		got := scriptOf(args)
		for _, name := range names {
			if got == name {
				return true
			}
		}
		return false
	}
}

func anyScript(args []string) bool { return scriptOf(args) != "" }

func scriptOf(args []string) string {
	if !faultproxy.Named("EVALSHA", "EVAL")(args) || len(args) < 4 {
		return ""
	}
	var n int
	if _, err := fmt.Sscan(args[2], &n); err != nil || len(args) < 3+n {
		return ""
	}
	keys, argv := args[3:3+n], args[3+n:]
	second, third := "", ""
	if n > 1 {
		second, _, _ = strings.Cut(keys[1], ":")
	}
	if n > 2 {
		third, _, _ = strings.Cut(keys[2], ":")
	}
	wakes := false
	for _, a := range argv {
		wakes = wakes || a == "PUBLISH"
	}
	switch {
	case second == "redlatch_waiters":
		return "report"
	case second == "redlatch_epoch" && n == 2:
		return "count"
	case second == "redlatch_epoch" && third == "redlatch_waiters" && len(argv) == 8:
		return "linger"
	case second == "redlatch_epoch" && third == "redlatch_waiters":
		return "transfer"
	case second == "redlatch_epoch" && wakes:
		return "release"
	case second == "redlatch_epoch":
		return "acquire"
	case second == "redlatch_turn" && len(argv) == 7:
		return "leave"
	case second == "redlatch_turn":
		return "force"
	case len(argv) == 2*n+1:
		return "renew"
	default:
		return "inspect"
	}
}

// wants fails the test unless err is each of the sentinels.
func wants(t testing.TB, err error, sentinels ...error) {
	t.Helper()
	for _, s := range sentinels {
		if !errors.Is(err, s) {
			t.Errorf("error is %v, want %v", err, s)
		}
	}
}

func okay(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inTime waits for a channel to be closed or written to.
func inTime[T any](t testing.TB, within time.Duration, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(within):
		t.Fatalf("not within %v: %s", within, what)
	}
	return v
}

// owner is a ctx that stands for one owner, so that programs can be written without
// a goroutine for each.
func owner(ctx context.Context, name string) context.Context {
	return reentrant.WithOwner(ctx, name)
}

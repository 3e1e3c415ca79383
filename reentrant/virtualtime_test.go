package reentrant_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// virtual is a Redis and its clients in a bubble whose time passes only while
// everybody sleeps: a lease of an hour takes milliseconds, and an instant is exact.
type virtual struct {
	t    *testing.T
	ctx  context.Context
	mini *miniredis.Miniredis
	rdb  [2]*redis.Client // connections that outlive a Client

	mu   sync.Mutex
	hook func(cmd string, args []string) (refusal string)
	sent map[string]int // commands sent by clients, by name; those inside scripts are counted too
}

// lease is that of the Clients that [virtual.client] makes, unless they say otherwise.
const lease = time.Second

// inVirtualTime runs f in a bubble.
func inVirtualTime(t *testing.T, f func(t *testing.T, v *virtual)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, rdb := redistest.Mini(t)
		// The server is there with the first connection, and takes a hook then.
		must(t, rdb.Ping(t.Context()).Err())
		v := &virtual{t: t, ctx: t.Context(), mini: m, rdb: [2]*redis.Client{rdb, redistest.MiniClient(t, m)}, sent: make(map[string]int)}
		v.watchCommands()
		f(t, v)
	})
}

// client makes a Client on a connection pool of its own, as another process would.
func (v *virtual) client(opts ...reentrant.Option) *reentrant.Client {
	v.t.Helper()
	opts = append([]reentrant.Option{reentrant.WithLease(lease)}, opts...)
	return newClient(v.t, redistest.MiniClient(v.t, v.mini), opts...)
}

// watchCommands counts what reaches the server, and lets hook refuse it.
func (v *virtual) watchCommands() {
	v.mini.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		v.mu.Lock()
		v.sent[cmd]++
		hook := v.hook
		v.mu.Unlock()
		if hook == nil {
			return false
		}
		refusal := hook(cmd, args)
		if refusal != "" {
			p.WriteError(refusal)
		}
		return refusal != ""
	})
}

// onCommand has f see every command before it is executed, and refuse it.
func (v *virtual) onCommand(f func(cmd string, args []string) (refusal string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hook = f
}

// refuseAll has Redis answer every command with an error; "" ends that.
func (v *virtual) refuseAll(text string) {
	v.onCommand(func(string, []string) string { return text })
}

// scriptsTake has every script begin that much later.
func (v *virtual) scriptsTake(d time.Duration) {
	v.onCommand(func(cmd string, _ []string) string {
		if cmd == "EVALSHA" || cmd == "EVAL" {
			time.Sleep(d)
		}
		return ""
	})
}

// onScript has f see every script with so many keys, the second of which is of that kind
// ("epoch", "turn").
func (v *virtual) onScript(keys, second string, f func() (refusal string)) {
	v.onCommand(func(cmd string, args []string) string {
		if script := cmd == "EVALSHA" || cmd == "EVAL"; script && args[1] == keys && strings.HasPrefix(args[3], "redlatch_"+second) {
			return f()
		}
		return ""
	})
}

// scripts returns how many scripts were run since the last call.
func (v *virtual) scripts() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.sent["EVALSHA"] // one that is not known yet is sent again with EVAL
	v.sent["EVALSHA"] = 0
	return n
}

// pass lets time pass, and whatever happens then come to rest.
func (v *virtual) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// ttl is the time left to a key; 0 when there is no such key, or no end to it.
func (v *virtual) ttl(key string) time.Duration { return v.mini.TTL(key) }

// fields is the hash at key, nil when there is none.
func (v *virtual) fields(key string) map[string]string {
	names, err := v.mini.HKeys(key)
	if err != nil {
		return nil
	}
	fields := make(map[string]string, len(names))
	for _, name := range names {
		fields[name] = v.mini.HGet(key, name)
	}
	return fields
}

// elsewhere runs f on a goroutine of its own, so as another owner, and waits for it.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// pending is a call under way on a goroutine of its own.
type pending struct {
	done chan struct{}
	err  error     // set when done
	at   time.Time // when it ended
}

func begin(f func() error) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = f()
		p.at = time.Now()
	}()
	return p
}

func (p *pending) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *pending) wait() error {
	<-p.done
	return p.err
}

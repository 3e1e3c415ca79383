package faulttests

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// wholeLife takes a lock, enters it again, has another Client wait for it and be woken, and
// leaves nothing behind.
func wholeLife(t *testing.T, s *redistest.Server, a, b *reentrant.Client) {
	t.Helper()
	me := owner(t.Context(), "me")
	for _, c := range []*reentrant.Client{a, b} {
		warnings, err := c.Check(me)
		must(t, errors.Join(append(warnings, err)...))
	}
	hold, err := a.NewLock("l").Acquire(me)
	must(t, err)
	must(t, a.NewLock("l").Lock(me))
	must(t, a.NewLock("l").Unlock(me))
	done := make(chan error, 1)
	go func() { done <- b.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 10*time.Second, "it is registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	before := b.Stats().WakeUps.Message
	must(t, hold.Release(me))
	must(t, locktest.InTime(t, 10*time.Second, "the waiter has the lock", done))
	if b.Stats().WakeUps.Message == before {
		t.Errorf("not woken: %+v", b.Stats().WakeUps)
	}
	must(t, b.NewLock("l").Unlock(me))
	locktest.TidyWithin(t, s, 5*time.Second, "l")
}

// Commands and messages go over TLS, to a server and to a Cluster.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority := redistest.NewAuthority(t)
	t.Run("server", func(t *testing.T) {
		addr, opt := authority.WithTLS(t)
		s := redistest.Start(t, opt)
		client := func() *reentrant.Client {
			return faultClient(t, s.Client(t, func(o *redis.Options) {
				o.Addr, o.TLSConfig = addr, authority.Config(t)
			}))
		}
		wholeLife(t, s, client(), client())
	})
	t.Run("cluster", func(t *testing.T) {
		addr, opt := authority.WithTLS(t, "tls-cluster yes", "cluster-enabled yes")
		s := redistest.Start(t, opt)
		s.AddSlots(t, 0, 16383)
		redistest.Eventually(t, 20*time.Second, "the cluster is whole", func() bool {
			return strings.Contains(s.Do(t, "CLUSTER", "INFO").(string), "cluster_state:ok")
		})
		client := func() *reentrant.Client {
			rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, TLSConfig: authority.Config(t)})
			t.Cleanup(func() { rdb.Close() })
			return faultClient(t, rdb)
		}
		wholeLife(t, s, client(), client())
	})
}

// A connection that cannot be trusted is refused by the limit of the wait, and the error says
// why. If it is the server that is not trusted, nothing was sent, and so nothing is in
// doubt.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	authority, another := redistest.NewAuthority(t), redistest.NewAuthority(t)
	addr, opt := authority.WithTLS(t)
	s := redistest.Start(t, opt)
	for what, c := range map[string]struct {
		addr  string
		spoil func(*redis.Options)
		says  string
		sent  bool // as far as the client can tell
	}{
		"another authority": {addr, func(o *redis.Options) {
			o.TLSConfig.RootCAs = another.Config(t).RootCAs
		}, "certificate signed by unknown authority", false},
		"another name": {addr, func(o *redis.Options) {
			o.TLSConfig.ServerName = "elsewhere.test"
		}, "certificate is valid for redis.test, not elsewhere.test", false},
		"no client certificate": {addr, func(o *redis.Options) {
			o.TLSConfig.Certificates = nil
		}, "certificate required", true},
		"a client certificate of another authority": {addr, func(o *redis.Options) {
			o.TLSConfig.Certificates = another.Config(t).Certificates
		}, "unknown certificate authority", true},
		"an old version":       {oldTLS(t, authority), func(*redis.Options) {}, "protocol version not supported", true},
		"a client without TLS": {addr, func(o *redis.Options) { o.TLSConfig = nil }, "", true},
		// Redis waits for the rest of what it takes for a command.
		"a server without TLS": {s.Addr(), func(o *redis.Options) { o.DialTimeout = 300 * time.Millisecond }, "", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client := faultClient(t, s.Client(t, func(o *redis.Options) {
				o.Addr, o.TLSConfig = c.addr, authority.Config(t)
				o.DialerRetries = 1
				c.spoil(o)
			}))
			says(t, "TryLock", c.says, func() error {
				done := make(chan error, 1)
				go func() {
					ok, err := client.NewLock("l").TryLock(t.Context(), time.Minute, 0)
					if ok {
						err = errors.New("a lock was granted")
					}
					done <- err
				}()
				err := locktest.InTime(t, 30*time.Second, "TryLock returns", done)
				wants(t, err, reentrant.ErrNotAcquired)
				if lua.Unknown(err) != c.sent {
					t.Errorf("TryLock: %v; in doubt: %v", err, lua.Unknown(err))
				}
				return err
			})
			says(t, "Check", c.says, func() error {
				_, err := client.Check(t.Context())
				return err
			})
			locktest.CloseQuickly(t, client)
		})
	}
}

// says has a call fail until it tells why. A server refuses a client's certificate when it
// has the client's Finished, and closes: that reset may reach the client before it has read the alert.
func says(t *testing.T, what, why string, call func() error) {
	t.Helper()
	for try := 0; ; try++ {
		err := call()
		switch {
		case err == nil:
			t.Fatalf("%s succeeded", what)
		case strings.Contains(err.Error(), why):
			return
		case !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) || try == 10:
			t.Fatalf("%s: %v, want %q", what, err, why)
		}
	}
}

// oldTLS listens, and knows nothing later than TLS 1.1.
func oldTLS(t *testing.T, authority *redistest.Authority) (addr string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion:   tls.VersionTLS10,
		MaxVersion:   tls.VersionTLS11,
		Certificates: []tls.Certificate{authority.Certificate(t, redistest.TLSName, x509.ExtKeyUsageServerAuth)},
	})
	must(t, err)
	ended := make(chan struct{})
	go func() { // ends with the listener
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-ended })
	return listener.Addr().String()
}

package reentrant_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// slowConn is a connection over a slow network: what is written arrives late, and
// what has arrived is read late. But nobody waits with a mutex held, since a bubble's
// time stands still while another goroutine wants that mutex: a write does not wait, and the
// handshake, which go-redis makes with the subscription's mutex held, is fast.
type slowConn struct {
	net.Conn
	latency func() time.Duration // of one direction, anew each time
	slow    atomic.Bool          // the handshake is over
	sent    chan parcel          // room for more than is ever on the way
	closed  chan struct{}
	once    sync.Once
}

type parcel struct {
	due   time.Time
	bytes []byte
}

func newSlowConn(conn net.Conn, latency func() time.Duration) *slowConn {
	c := &slowConn{Conn: conn, latency: latency, sent: make(chan parcel, 1024), closed: make(chan struct{})}
	go func() { // ends with the connection
		for {
			select {
			case p := <-c.sent:
				c.pass(time.Until(p.due))
				if _, err := c.Conn.Write(p.bytes); err != nil {
					return
				}
			case <-c.closed:
				return
			}
		}
	}()
	return c
}

func (c *slowConn) Write(b []byte) (int, error) {
	shaking := bytes.Contains(b, []byte("hello")) || bytes.Contains(b, []byte("client"))
	if !c.slow.Load() && shaking {
		return c.Conn.Write(b)
	}
	c.slow.Store(true)
	select {
	case c.sent <- parcel{time.Now().Add(c.latency()), bytes.Clone(b)}:
		return len(b), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.slow.Load() {
		c.pass(c.latency())
	}
	return n, err
}

// pass lets time pass while the connection is open: at the end of a bubble it does not.
func (c *slowConn) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closed:
	}
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// wrapped returns a client of v's server whose connections go through wrap.
func (v *virtual) wrapped(wrap func(net.Conn) net.Conn) *redis.Client {
	v.t.Helper()
	return redistest.MiniClient(v.t, v.mini, func(o *redis.Options) {
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	})
}

func (v *virtual) slow(latency func() time.Duration, opts ...reentrant.Option) *reentrant.Client {
	v.t.Helper()
	rdb := v.wrapped(func(conn net.Conn) net.Conn { return newSlowConn(conn, latency) })
	return newClient(v.t, rdb, append([]reentrant.Option{reentrant.WithLease(lease)}, opts...)...)
}

// warm has the server learn every script, lest the first of each costs two round trips.
func (v *virtual) warm() {
	v.t.Helper()
	l, me, you := v.client().NewLock("warm"), owner(v.ctx, "me"), owner(v.ctx, "you")
	must(v.t, l.Lock(me))
	must(v.t, l.Lock(me))
	must(v.t, l.Unlock(me))
	next := begin(func() error { return l.Lock(you) })
	v.pass(lease)
	must(v.t, l.Unlock(me))
	must(v.t, next.wait())
	must(v.t, l.Unlock(you))
}

// A round trip takes up to a quarter of the lease, never the same time twice. Leases are
// renewed as ever; and a fixed lease that is kept to its end ends before Redis lets a
// client on a fast network in, since it counts from before the question.
func TestFault13SlowNetwork(t *testing.T) {
	const rounds = 8 // of each owner, every second one with a fixed lease
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				v.warm()
				var mu sync.Mutex
				random := rand.New(rand.NewPCG(seed, 13)) // guarded by mu
				draw := func(n time.Duration) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return time.Duration(random.Int64N(int64(n)))
				}
				clients := []*reentrant.Client{
					v.slow(func() time.Duration { return lease/16 + draw(lease/16) }),
					v.slow(func() time.Duration { return lease/16 + draw(lease/16) }),
					v.client(),
				}
				var hist locktest.Tenures
				var group sync.WaitGroup
				for i, c := range clients {
					for o := range 2 {
						who := fmt.Sprintf("%d/%d", i, o)
						group.Go(func() {
							l, ctx := c.NewLock("job", reentrant.WithFencing()), owner(v.ctx, who)
							for round := range rounds {
								var opts []reentrant.AcquireOption
								if round%2 == 0 {
									opts = append(opts, reentrant.WithFixedLease(lease/2+draw(lease)))
								}
								h, err := l.Acquire(ctx, opts...)
								if err != nil {
									t.Errorf("%s: %v", who, err)
									return
								}
								end := hist.Begin(who, h)
								if over := h.ValidUntil().Sub(time.Now().Add(v.ttl("job"))); round%2 == 0 && over > 0 {
									t.Errorf("%s: trusted %v longer than Redis keeps it", who, over)
								}
								if round%2 == 0 {
									<-h.Lost() // kept to its end
								} else {
									time.Sleep(draw(2 * lease))
								}
								end()
								if err := h.Release(ctx); err != nil && !(round%2 == 0 && errors.Is(err, reentrant.ErrLost)) {
									t.Errorf("%s: release: %v", who, err)
								}
							}
						})
					}
				}
				group.Wait()
				if n := hist.Len(); n != rounds*2*len(clients) {
					t.Errorf("%d tenures", n)
				}
				hist.Disjoint(t, fmt.Sprint("seed ", seed))
				for i, c := range clients {
					if got := c.Stats(); got.Losses != rounds || got.Renewals == 0 {
						t.Errorf("client %d: %+v, want %d losses, of fixed leases", i, got, rounds)
					}
				}
			})
		})
	}
}

// The answer that makes somebody the holder takes an eighth of the lease to arrive. The
// holder gives up before Redis lets anybody else in, who hears of that at once.
func TestFault13SlowAnswer(t *testing.T) {
	for _, way := range []string{"acquired", "handed over", "re-entered", "renewed"} {
		t.Run(way, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				v.warm()
				c := v.slow(func() time.Duration { return lease / 8 })
				l, me, you := c.NewLock("job"), owner(v.ctx, "me"), owner(v.ctx, "you")
				var h *reentrant.Hold
				acquire := func(ctx context.Context) (err error) {
					h, err = l.Acquire(ctx, reentrant.WithFixedLease(lease))
					return err
				}
				switch way {
				case "acquired":
					must(t, acquire(me))
				case "handed over":
					must(t, l.Lock(me))
					next := begin(func() error { return acquire(you) })
					v.pass(time.Second)
					must(t, l.Unlock(me))
					must(t, next.wait())
				case "re-entered":
					must(t, l.LockLease(me, lease))
					must(t, acquire(me))
				case "renewed":
					h, err := l.Acquire(me)
					must(t, err)
					for range 500 {
						v.pass(lease / 100)
						if left := time.Until(h.ValidUntil()); left > v.ttl("job") {
							t.Fatalf("trusted for %v, and Redis keeps it for %v", left, v.ttl("job"))
						}
					}
					if n := c.Stats().Renewals; n < 10 {
						t.Errorf("%d renewals in 5 leases", n)
					}
					return
				}
				must(t, v.client().NewLock("job").Lock(v.ctx))
				if early := time.Until(h.ValidUntil()); early > 0 {
					t.Errorf("another has the lock %v before the holder gives up", early)
				}
				if !ended(h.Lost()) {
					t.Error("the holder was not told")
				}
			})
		})
	}
}

// A round trip takes longer than the lease. Nothing that such a client is granted is
// worth anything when it hears of it: it is told so, and Redis is rid of it at once.
func TestFault14LeaseShorterThanTheRoundTrip(t *testing.T) {
	const short, oneWay = 200 * time.Millisecond, 150 * time.Millisecond
	for _, how := range []struct {
		name string
		take func(ctx context.Context, l *reentrant.Lock) error
	}{
		{"Lock", func(ctx context.Context, l *reentrant.Lock) error { return l.Lock(ctx) }},
		{"TryLock", func(ctx context.Context, l *reentrant.Lock) error {
			ok, err := l.TryLock(ctx, time.Minute, 0)
			if ok {
				return nil
			}
			return errors.Join(errNotTaken, err)
		}},
		{"fixed", func(ctx context.Context, l *reentrant.Lock) error { return l.LockLease(ctx, short) }},
		{"Do", func(ctx context.Context, l *reentrant.Lock) error {
			return l.Do(ctx, func(context.Context) error { return nil })
		}},
	} {
		t.Run(how.name, func(t *testing.T) {
			locktest.Each(t, locktest.AllKinds, func(t *testing.T, k locktest.Kind) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					v.warm()
					c := v.slow(func() time.Duration { return oneWay }, reentrant.WithLease(short))
					v.scripts()
					began := time.Now()
					if err := how.take(v.ctx, k.Held(c, "job")); !errors.Is(err, reentrant.ErrNotAcquired) {
						t.Fatalf("err is %v", err)
					}
					if d := time.Since(began); d > 20*oneWay {
						t.Errorf("told after %v", d)
					}
					if n := v.scripts(); n > 12 {
						t.Errorf("%d scripts for a lock that is not to be had", n)
					}
					if got := c.Stats(); got.Held != 0 || got.Waiting != 0 {
						t.Errorf("%+v", got)
					}
					must(t, k.Rival(v.client(), "job").Lock(v.ctx))
				})
			})
		})
	}
}

var errNotTaken = errors.New("not taken")

package reentrant_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// quickWithin is how long a call with wait 0 waits for an answer.
const quickWithin = 500 * time.Millisecond

// Redis is silent: a call with wait 0 ends at its limit, and what it may have been granted is given back.
func TestTimeQuickOnASilentRedis(t *testing.T) {
	for what, try := range map[string]func(l *reentrant.Lock, ctx context.Context) error{
		"TryLock": func(l *reentrant.Lock, ctx context.Context) error { return locktest.Tried(l.TryLock(ctx, 0, 0)) },
		"TryLock, less": func(l *reentrant.Lock, ctx context.Context) error {
			return locktest.Tried(l.TryLock(ctx, -time.Hour, lease))
		},
		"Acquire": func(l *reentrant.Lock, ctx context.Context) error {
			_, err := l.Acquire(ctx, reentrant.WithWait(0))
			return err
		},
		"without a cancel": func(l *reentrant.Lock, ctx context.Context) error {
			return locktest.Tried(l.TryLock(context.WithoutCancel(ctx), 0, 0))
		},
	} {
		for _, nested := range []bool{false, true} {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				l := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour)).NewLock("job")
				warm(v, l)
				if nested {
					must(t, l.Lock(asHolder(t)))
				}
				end := make(chan struct{})
				v.onCommand(func(string, []string) string { <-end; return "" })
				v.scripts()
				began := time.Now()
				err := try(l, asHolder(t))
				if took := time.Since(began); took != quickWithin {
					t.Errorf("%s, nested %v: returned after %v", what, nested, took)
				}
				if wants(t, err, reentrant.ErrNotAcquired); err == nil || !strings.Contains(err.Error(), "no answer from Redis") || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, nested %v: %v", what, nested, err)
				}
				v.onCommand(nil)
				close(end)
				v.pass(time.Second)
				if nested {
					if n, err := l.HoldCount(asHolder(t)); n != 1 || err != nil {
						t.Errorf("%s: held %d times, %v", what, n, err)
					}
					must(t, l.Unlock(asHolder(t)))
				}
				if v.mini.Exists("job") {
					t.Errorf("%s, nested %v: left behind: %v", what, nested, v.fields("job"))
				}
			})
		}
	}
}

// Redis cannot serve: a call with wait 0 says so at once, after one command.
func TestTimeQuickRepeatsNothing(t *testing.T) {
	for _, nested := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			l := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
			warm(v, l)
			if nested {
				must(t, l.Lock(asHolder(t)))
			}
			v.scripts()
			v.onCommand(func(cmd string, _ []string) string {
				if cmd == "EVALSHA" {
					return "LOADING Redis is loading the dataset in memory"
				}
				return ""
			})
			began := time.Now()
			err := locktest.Tried(l.TryLock(asHolder(t), 0, 0))
			var reply redis.Error
			if took := time.Since(began); took != 0 || !errors.As(err, &reply) || !strings.HasPrefix(reply.Error(), "LOADING") {
				t.Errorf("nested %v: %v after %v", nested, err, took)
			}
			wants(t, err, reentrant.ErrNotAcquired)
			if n := v.scripts(); n != 1 && !nested { // whose hold count is put right in the background, at once
				t.Errorf("%d commands", n)
			}
			v.onCommand(nil)
		})
	}
}

// The timeout of WithReplicaAcks is added, and the attempt of a MultiLock has no limit but its own.
func TestTimeQuickLimits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour),
			reentrant.WithReplicaAcks(1, 700*time.Millisecond)).NewLock("job")
		end := make(chan struct{})
		v.onCommand(func(string, []string) string { <-end; return "" })
		began := time.Now()
		wants(t, locktest.Tried(l.TryLock(v.ctx, 0, 0)), reentrant.ErrNotAcquired)
		if took := time.Since(began); took != quickWithin+700*time.Millisecond {
			t.Errorf("with replicas: %v", took)
		}
		v.onCommand(nil)
		close(end)
		v.pass(time.Second)
	})
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
		warm(v, l)
		v.scriptsTake(2 * quickWithin)
		tenure, err := l.Member().Take(v.ctx, multi.Terms{Limited: true})
		must(t, err)
		// It is given back as long as ctx lasts, and no longer.
		limited, cancel := context.WithTimeout(v.ctx, quickWithin)
		defer cancel()
		began := time.Now()
		time.AfterFunc(quickWithin/2, cancel)
		wants(t, tenure.Release(limited), reentrant.ErrUnconfirmed, context.Canceled)
		if took := time.Since(began); took != quickWithin/2 {
			t.Errorf("the member was given back for %v", took)
		}
		v.pass(time.Minute)
	})
}

// A dial that is not answered is told as such, and one that fails late with its own error.
func TestTimeQuickWithoutAConnection(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: locktest.ErrGivenUp}
	for what, test := range map[string]struct {
		dial func(ctx context.Context, network, addr string) (net.Conn, error)
		opts func(*redis.Options)
		want error
		text string
		took time.Duration
	}{
		"refused": {
			func(context.Context, string, string) (net.Conn, error) { return nil, refused },
			func(*redis.Options) {}, locktest.ErrGivenUp, "dial tcp: ", 400 * time.Millisecond, // go-redis tells it, after its five dials
		},
		"refused, and go-redis tells it late": {
			func(context.Context, string, string) (net.Conn, error) { return nil, refused },
			func(o *redis.Options) { o.DialerRetries, o.DialerRetryTimeout = 5, time.Second }, locktest.ErrGivenUp, "dial tcp: ", quickWithin,
		},
		"not answered": {
			func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
			},
			func(*redis.Options) {}, context.DeadlineExceeded, "no answer from Redis: ", quickWithin,
		},
	} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.Dialer, o.DialTimeout = test.dial, 5*time.Second }, test.opts)
			c := newClient(t, rdb)
			began := time.Now()
			err := locktest.Tried(c.NewLock("job").TryLock(v.ctx, 0, 0))
			if took := time.Since(began); took != test.took {
				t.Errorf("%s: returned after %v, want %v", what, took, test.took)
			}
			wants(t, err, reentrant.ErrNotAcquired, test.want)
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v", what, err)
			}
			v.pass(time.Minute) // go-redis goes on dialing
		})
	}
}

package reentrant_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis' machine is gone: dials end by their timeout, with nothing sent. A release is under way for
// seconds; nobody is known to hold the lock, at whichever instant a wait ends.
func TestTimeDialsThatHangAreNotBusy(t *testing.T) {
	for limit := 1500 * time.Millisecond; limit < 7500*time.Millisecond; limit += 250 * time.Millisecond {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			var gone atomic.Bool
			rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) {
				dial := o.Dialer
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if gone.Load() {
						time.Sleep(1800 * time.Millisecond)
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("i/o timeout")}
					}
					return dial(ctx, network, addr)
				}
				o.DialerRetries = 1
				o.MaxIdleConns = 1
				o.ConnMaxIdleTime = 50 * time.Millisecond
			})
			l := newClient(t, rdb, reentrant.WithLease(time.Minute)).NewLock("l")
			o := reentrant.WithOwner(v.ctx, "o")
			must(t, l.Lock(o))
			call := begin(func() error {
				ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), limit, 0)
				if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
					t.Errorf("limit %v: %v, %v, as if somebody had the lock", limit, ok, err)
				}
				return err
			})
			v.pass(100 * time.Millisecond)
			gone.Store(true)
			rel := begin(func() error { return l.Unlock(o) })
			_ = call.wait()
			gone.Store(false)
			_ = rel.wait()
		})
	}
}

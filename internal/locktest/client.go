package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// NewClient makes a Client that is closed with the test, however many holds are left. It fails
// the test if that does not work.
func NewClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(rdb, opts...)
	Must(t, err)
	t.Cleanup(func() {
		if err := Abandon(c, 10*time.Second); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// Impatience is for replies that never come.
func Impatience(d time.Duration) func(*redis.Options) {
	return func(o *redis.Options) { o.ReadTimeout = d }
}

// FaultClient is NewClient for a test at the end of which Redis may be out of reach: no matter if
// the Client cannot be closed.
func FaultClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(rdb, opts...)
	Must(t, err)
	t.Cleanup(func() { _ = Abandon(c, 15*time.Second) })
	return c
}

// Abandon closes a Client without waiting for its holds, and waits for all else no longer
// than that.
func Abandon(c *reentrant.Client, patience time.Duration) (err error) {
	for _, limit := range []time.Duration{time.Millisecond, patience} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err = c.Close(ctx)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// CloseQuickly is for the end of a test in which everything was released: Close
// has nothing to wait for.
func CloseQuickly(t testing.TB, c *reentrant.Client) {
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

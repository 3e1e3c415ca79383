package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// name is the name of the locks in most tests, on every server.
const name = "pay:42"

// newClient makes a Client that is closed with the test, whatever it holds.
func newClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(rdb, opts...)
	must(t, err)
	t.Cleanup(func() {
		for _, patience := range []time.Duration{time.Millisecond, 15 * time.Second} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			err = c.Close(ctx)
			cancel()
		}
		if err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// fleet is a Client for each of several servers, as one process has them.
type fleet []*reentrant.Client

// locks are the locks of one name on all servers.
func (f fleet) locks(name string, opts ...reentrant.LockOption) (locks []multilock.Locker) {
	for _, c := range f {
		locks = append(locks, c.NewLock(name, opts...))
	}
	return locks
}

func (f fleet) all(t testing.TB, name string, opts ...multilock.Option) *multilock.MultiLock {
	t.Helper()
	l, err := multilock.NewWith(f.locks(name), opts...)
	must(t, err)
	return l
}

func (f fleet) quorum(t testing.TB, name string, opts ...multilock.Option) *multilock.MultiLock {
	t.Helper()
	l, err := multilock.NewQuorumWith(f.locks(name), opts...)
	must(t, err)
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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

// as is a ctx that stands for one owner, so that programs can be written without a
// goroutine for each.
func as(ctx context.Context, owner string) context.Context {
	return reentrant.WithOwner(ctx, owner)
}

// over reports whether a channel is closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// within waits for a channel to be closed or written to.
func within[T any](t testing.TB, limit time.Duration, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatalf("not within %v: %s", limit, what)
	}
	return v
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

package redisio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// failing is a Cluster that answers every command with an error.
type failing struct {
	err     error
	reloads []time.Time
}

func (f *failing) Process(context.Context, redis.Cmder) error { return f.err }
func (f *failing) ReloadState(context.Context)                { f.reloads = append(f.reloads, time.Now()) }

type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// The map is asked for anew after what another node might answer, and after nothing else.
func TestReloadAfter(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{refused, 1},
		{fmt.Errorf("node: %w", refused), 1},
		{io.EOF, 1},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, 1},
		{context.DeadlineExceeded, 1},
		{refusal("CLUSTERDOWN The cluster is down"), 1},
		{refusal("MOVED 1 127.0.0.1:1"), 1},
		{refusal("ASK 1 127.0.0.1:1"), 1},
		{refusal("READONLY You can't write against a read only replica."), 1},
		{refusal("MASTERDOWN Link with MASTER is down"), 1},
		{refusal("TRYAGAIN Multiple keys request during rehashing of slot"), 0},
		{refusal("LOADING Redis is loading the dataset in memory"), 0},
		{refusal("OOM command not allowed"), 0},
		{refusal("WRONGTYPE Operation against a key"), 0},
		{redis.Nil, 0},
		{redis.ErrPoolTimeout, 0},
		{redis.ErrClosed, 0},
		{context.Canceled, 0},
	} {
		f := &failing{err: c.err}
		r := NewReloader(f, f)
		if err := r.Process(t.Context(), redis.NewCmd(t.Context(), "evalsha")); !errors.Is(err, c.err) {
			t.Errorf("%v became %v", c.err, err)
		}
		if got := len(f.reloads); got != c.want {
			t.Errorf("%d reloads after %v, want %d", got, c.err, c.want)
		}
	}
	var none *Reloader
	none.Learn(t.Context(), io.EOF) // without a Cluster
}

// However many commands fail, the map is asked for once a second in the end, and at once
// when something fails after a while of quiet.
func TestReloadPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{err: io.EOF}
		r := NewReloader(f, f)
		fail := func(during time.Duration) {
			f.reloads = nil
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				_ = r.Process(t.Context(), redis.NewCmd(t.Context(), "evalsha"))
			}
		}
		for range 2 {
			began := time.Now()
			fail(time.Minute)
			if len(f.reloads) < 60 || len(f.reloads) > 130 {
				t.Errorf("%d reloads in a minute", len(f.reloads))
			}
			if f.reloads[0] != began {
				t.Errorf("the first came %v late", f.reloads[0].Sub(began))
			}
			if second := f.reloads[1].Sub(began); second > 2*firstReload {
				t.Errorf("the second came after %v", second)
			}
			time.Sleep(2 * calmReload)
		}
	})
}

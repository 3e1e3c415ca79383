package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Every action that can end in one INCR, as a client that retries and one that
// does not see it, and how often the server has executed it.
func TestActionsOnIncr(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	isTimeout := func(err error) bool {
		var ne net.Error
		return errors.As(err, &ne) && ne.Timeout()
	}
	isEOF := func(err error) bool { return errors.Is(err, io.EOF) }
	isReset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || isEOF(err) }
	isNil := func(err error) bool { return err == nil }
	isLoading := func(err error) bool { return err != nil && err.Error() == "LOADING later" }

	for _, c := range []struct {
		name   string
		action faultproxy.Action
		retry  bool
		err    func(error) bool
		reply  int64
		stored any
	}{
		{"DropBefore", faultproxy.DropBefore, false, isEOF, 0, nil},
		{"DropBefore", faultproxy.DropBefore, true, isNil, 1, "1"},
		{"DropAfter", faultproxy.DropAfter, false, isEOF, 0, "1"},
		{"DropAfter", faultproxy.DropAfter, true, isNil, 2, "2"}, // executed twice
		{"ResetAfter", faultproxy.ResetAfter, false, isReset, 0, "1"},
		{"ResetAfter", faultproxy.ResetAfter, true, isNil, 2, "2"},
		{"SwallowReply", faultproxy.SwallowReply, false, isTimeout, 0, "1"},
		{"SwallowReply", faultproxy.SwallowReply, true, isNil, 2, "2"},
		{"SwallowRequest", faultproxy.SwallowRequest, false, isTimeout, 0, nil},
		{"SwallowRequest", faultproxy.SwallowRequest, true, isNil, 1, "1"},
		{"Duplicate", faultproxy.Duplicate, false, isNil, 1, "2"},
		{"Delay", faultproxy.Delay(time.Millisecond), false, isNil, 1, "1"},
		{"DelayReply", faultproxy.DelayReply(time.Millisecond), false, isNil, 1, "1"},
		{"RefuseWith", faultproxy.RefuseWith("LOADING later"), false, isLoading, 0, nil},
		{"RefuseWith", faultproxy.RefuseWith("LOADING later"), true, isNil, 1, "1"},
	} {
		name := c.name
		mods := []func(*redis.Options){impatient}
		if c.retry {
			name += " with retries"
		} else {
			mods = append(mods, noRetry)
		}
		t.Run(name, func(t *testing.T) {
			r.Do(t, "DEL", "n")
			h := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Times: 1, Action: c.action})
			defer h.Remove()
			rdb := r.client(t, mods...)
			got, err := rdb.Incr(t.Context(), "n").Result()
			if !c.err(err) || got != c.reply {
				t.Errorf("INCR = %d, %v; want %d", got, err, c.reply)
			}
			if stored := r.Do(t, "GET", "n"); stored != c.stored {
				t.Errorf("stored %v, want %v", stored, c.stored)
			}
			if h.Hits() != 1 {
				t.Errorf("%d hits", h.Hits())
			}
		})
	}
}

func TestResetAfterResets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Action: faultproxy.ResetAfter})
	conn, err := net.Dial("tcp", r.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("INCR n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read: %v", err)
	}
}

func TestDelayTakesItsTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t)
	warm(t, rdb)
	r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("PING"), Action: faultproxy.Delay(80 * time.Millisecond)})
	start := time.Now()
	warm(t, rdb)
	if d := time.Since(start); d < 80*time.Millisecond {
		t.Fatalf("answered after %v", d)
	}
}

// A request that is stalled, and the one behind it, go on when the test says so, and not
// before; later ones are not stopped.
func TestStallRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, func(o *redis.Options) { o.ReadTimeout = time.Minute })
	h := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Action: faultproxy.StallRequest})
	done := make(chan []redis.Cmder, 1)
	go func() {
		cmds, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Incr(t.Context(), "n")
			p.Get(t.Context(), "n")
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		done <- cmds
	}()
	redistest.Eventually(t, 20*time.Second, "the request is stalled", func() bool { return h.Hits() == 1 })
	if n, err := r.Admin().Exists(t.Context(), "n").Result(); n != 0 || err != nil {
		t.Fatalf("EXISTS = %d, %v before Resume", n, err)
	}
	h.Resume()
	if cmds := <-done; cmds[0].(*redis.IntCmd).Val() != 1 || cmds[1].(*redis.StringCmd).Val() != "1" {
		t.Fatalf("answered %v", cmds)
	}
	h.Resume()
	if n, err := rdb.Incr(t.Context(), "n").Result(); n != 2 || err != nil {
		t.Fatalf("INCR = %d, %v after Resume", n, err)
	}
}

// The client gives up; its request is executed when the test says so.
func TestHoldRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, func(o *redis.Options) {
		o.ContextTimeoutEnabled = true
		o.DB = 3 // the late connection must be set up like the client's
	})
	h := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Times: 1, Action: faultproxy.HoldRequest})

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := rdb.Incr(ctx, "n").Err(); err == nil {
		t.Fatal("a held request was answered")
	}
	if n, err := rdb.Get(t.Context(), "n").Result(); !errors.Is(err, redis.Nil) {
		t.Fatalf("n = %q, %v before Release", n, err)
	}
	if got := h.Release(); !slices.Equal(got, []string{":1\r\n"}) {
		t.Fatalf("Release = %q", got)
	}
	if n := rdb.Get(t.Context(), "n").Val(); n != "1" {
		t.Fatalf("n = %q after Release", n)
	}
	if got := h.Release(); len(got) != 0 {
		t.Fatalf("second Release = %q", got)
	}
}

// Release closes the connection of a client that has not given up.
func TestReleaseEndsTheWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, func(o *redis.Options) { o.ReadTimeout = time.Minute })
	h := r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Action: faultproxy.HoldRequest})
	errs := make(chan error, 1)
	go func() { errs <- rdb.Incr(t.Context(), "n").Err() }()
	redistest.Eventually(t, 5*time.Second, "the request is held", func() bool { return h.Hits() == 1 })
	if got := h.Release(); len(got) != 1 {
		t.Fatalf("Release = %q", got)
	}
	if err := <-errs; err == nil {
		t.Fatal("the client got a reply")
	}
}

// incrPipeline sends n INCRs at once and returns the replies that were read: a
// command that got none has the value 0. (Errors tell nothing here: when one reply of
// a pipeline is missing, go-redis reports an error for all its commands.)
func incrPipeline(t *testing.T, rdb *redis.Client, n int) []int64 {
	t.Helper()
	cmds, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range n {
			p.Incr(t.Context(), "n")
		}
		return nil
	})
	if err == nil {
		t.Fatal("no error")
	}
	values := make([]int64, n)
	for i, c := range cmds {
		values[i] = c.(*redis.IntCmd).Val()
	}
	return values
}

// What comes after a lost reply is lost as well; it must not be read as the
// reply that is missing.
func TestSwallowReplyInPipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, impatient)
	r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Skip: 1, Times: 1, Action: faultproxy.SwallowReply})
	if got := incrPipeline(t, rdb, 4); !slices.Equal(got, []int64{1, 0, 0, 0}) {
		t.Errorf("replies %v", got)
	}
	if got := r.Do(t, "GET", "n"); got != "4" {
		t.Errorf("executed %v of 4", got)
	}
}

func TestDropAfterInPipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry)
	r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Skip: 2, Times: 1, Action: faultproxy.DropAfter})
	if got := incrPipeline(t, rdb, 3); !slices.Equal(got, []int64{1, 2, 0}) {
		t.Errorf("replies %v", got)
	}
	if got := r.Do(t, "GET", "n"); got != "3" {
		t.Errorf("executed %v of 3", got)
	}
}

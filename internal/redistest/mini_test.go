package redistest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMiniExpiryFollowsBubbleTime(t *testing.T) {
	for i := range 3 { // more than one bubble in a process
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, rdb := redistest.Mini(t)
				ctx := t.Context()
				rdb.Set(ctx, "k", "v", 30*time.Second)
				time.Sleep(20 * time.Second)
				if got := rdb.PTTL(ctx, "k").Val(); got != 10*time.Second {
					t.Fatalf("PTTL = %v after 20 s of 30 s", got)
				}
				time.Sleep(10*time.Second - time.Millisecond)
				if rdb.Exists(ctx, "k").Val() != 1 {
					t.Fatal("gone 1 ms early")
				}
				time.Sleep(time.Millisecond)
				if rdb.Exists(ctx, "k").Val() != 0 {
					t.Fatal("still there after 30 s")
				}
			})
		})
	}
}

func TestMiniOutsideBubble(t *testing.T) {
	m, rdb := redistest.Mini(t)
	other := redistest.MiniClient(t, m)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := other.Get(t.Context(), "k").Val(); got != "v" {
		t.Fatalf("GET k = %q", got)
	}
}

func TestMiniTimeIsBubbleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := redistest.Mini(t)
		time.Sleep(90 * time.Minute)
		got := rdb.Eval(t.Context(), `return redis.call('TIME')[1]`, nil).Val()
		if want := fmt.Sprint(time.Now().Unix()); got != want {
			t.Fatalf("TIME in a script = %v, want %v", got, want)
		}
	})
}

// On a bare net.Pipe this blocks for ever: the client writes the whole pipeline
// before it reads, and the server cannot write its replies.
func TestMiniLongPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := redistest.Mini(t)
		cmds, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range 2000 {
				p.Set(t.Context(), "k", strings.Repeat("x", 100), 0)
			}
			return nil
		})
		if err != nil || len(cmds) != 2000 {
			t.Fatalf("%d replies, %v", len(cmds), err)
		}
	})
}

// A subscriber that does not read must not stop the server: publishing happens
// inside scripts, with the server's lock held.
func TestMiniSlowSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := redistest.Mini(t)
		ctx := t.Context()
		sub := rdb.Subscribe(ctx, "c")
		defer sub.Close()
		if _, err := sub.Receive(ctx); err != nil { // the confirmation
			t.Fatal(err)
		}
		script := redis.NewScript(`return redis.call('PUBLISH', KEYS[1], ARGV[1])`)
		for i := range 300 {
			if n, err := script.Run(ctx, rdb, []string{"c"}, i).Int(); n != 1 || err != nil {
				t.Fatalf("PUBLISH %d = %d, %v", i, n, err)
			}
		}
		for i := range 300 {
			msg, err := sub.ReceiveMessage(ctx)
			if err != nil || msg.Payload != fmt.Sprint(i) {
				t.Fatalf("message %d: %v, %v", i, msg, err)
			}
		}
	})
}

func TestMiniReadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := redistest.Mini(t)
		sub := rdb.Subscribe(t.Context(), "c")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err := sub.ReceiveTimeout(t.Context(), 7*time.Second)
		if err == nil || time.Since(start) != 7*time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
	})
}

func TestMiniSetError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, rdb := redistest.Mini(t)
		m.SetError("LOADING Redis is loading the dataset in memory")
		if err := rdb.Get(t.Context(), "k").Err(); err == nil {
			t.Fatal("no error")
		}
		m.SetError("")
		if err := rdb.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	})
}

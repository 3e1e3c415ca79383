package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/minired"
	"github.com/redlatch/redlatch/internal/redistest"
)

// newInside is a proxy without a socket in front of a miniredis, and a client that goes through it.
func newInside(t *testing.T, mods ...func(*redis.Options)) (*faultproxy.Proxy, *redis.Client) {
	t.Helper()
	m, _ := redistest.Mini(t)
	door := minired.NewDoor(m)
	t.Cleanup(door.Shut)
	p := faultproxy.Inside(t, door.Dial)
	opts := minired.Options(p.Dial)
	noRetry(opts)
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { rdb.Close() })
	return p, rdb
}

// Inside a bubble a delay is exact, on either side of the server, and of messages.
func TestInsideDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := newInside(t)
		warm(t, rdb)
		for _, action := range []faultproxy.Action{faultproxy.Delay(time.Second), faultproxy.DelayReply(time.Second)} {
			rule := p.Add(faultproxy.Rule{Match: faultproxy.Named("GET"), Action: action})
			start := time.Now()
			if err := rdb.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) || time.Since(start) != time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			rule.Remove()
		}
		sub := rdb.Subscribe(t.Context(), "c")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.DelayMessages(time.Minute)
		start := time.Now()
		rdb.Publish(t.Context(), "c", "hello")
		if m, err := sub.ReceiveMessage(t.Context()); err != nil || m.Payload != "hello" || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %v", m, err, time.Since(start))
		}
	})
}

// A refused request keeps its place in a pipeline, and the server does not see it; nor does a refused SUBSCRIBE
// subscribe.
func TestRefusedInPipeline(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rdb := newInside(t, func(o *redis.Options) { o.Protocol = protocol })
				warm(t, rdb)
				p.Add(faultproxy.Rule{Match: faultproxy.Named("INCR"), Action: faultproxy.RefuseWith("ERR no\r\n+x")})
				cmds, err := rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
					pipe.Set(t.Context(), "k", 1, 0)
					pipe.Incr(t.Context(), "k")
					pipe.Get(t.Context(), "k")
					return nil
				})
				if err == nil || cmds[0].Err() != nil || cmds[1].Err() == nil || cmds[1].Err().Error() != "ERR no  +x" || cmds[2].(*redis.StringCmd).Val() != "1" {
					t.Errorf("%v, %v", cmds, err)
				}
				p.Add(faultproxy.Rule{Match: faultproxy.Named("SUBSCRIBE"), Times: 1, Action: faultproxy.RefuseWith("NOPERM no")})
				sub := rdb.Subscribe(t.Context(), "c")
				defer sub.Close()
				if m, err := sub.ReceiveTimeout(t.Context(), time.Second); err == nil || err.Error() != "NOPERM no" {
					t.Errorf("SUBSCRIBE: %v, %v", m, err)
				}
				if n := rdb.Publish(t.Context(), "c", "x").Val(); n != 0 {
					t.Errorf("%d are subscribed", n)
				}
			})
		})
	}
}

// A silent server gets what was sent when it answers again, although the client has given up.
func TestInsideSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := newInside(t)
		warm(t, rdb)
		p.Blackhole(true, true, faultproxy.Any)
		start := time.Now()
		if err := rdb.Incr(t.Context(), "k").Err(); err == nil || time.Since(start) < time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		p.Heal()
		synctest.Wait()
		if got := rdb.Get(t.Context(), "k").Val(); got != "1" {
			t.Errorf("the server has %q", got)
		}
	})
}

func TestInsideRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := newInside(t, func(o *redis.Options) { o.DialerRetries = 1 })
		warm(t, rdb)
		p.Refuse(true)
		p.CloseAll(faultproxy.Any)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := rdb.Ping(ctx).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			// The first command may find its connection closed under it.
			if err = rdb.Ping(ctx).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("connecting: %v", err)
			}
		}
		p.Refuse(false)
		warm(t, rdb)
	})
}

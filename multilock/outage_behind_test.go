package multilock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// dropped has a server drop each connection on which a script comes while down says so.
func (s *virtualServer) dropped(down func() bool) {
	s.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		if (cmd == "EVALSHA" || cmd == "EVAL") && down() {
			p.Close()
			return true
		}
		return s.answer(p, cmd, args...)
	})
}

// Redis refuses for a moment while another call of the process waits for the member: a MultiLock bears
// that as the other call does.
func TestShortOutageBehindAnother(t *testing.T) {
	for _, limited := range []bool{false, true} {
		t.Run(strconv.FormatBool(limited), func(t *testing.T) {
			inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
				a, b := v.process(), v.process()
				x := as(v.ctx, "x")
				must(t, a[0].NewLock(name).Lock(x))
				first := begin(func() error { return b[0].NewLock(name).Lock(as(v.ctx, "first")) })
				v.pass(10 * time.Millisecond)
				v.s[0].refuse("LOADING Redis is loading the dataset in memory")
				v.pass(1200 * time.Millisecond) // first has polled
				second := begin(func() error {
					if !limited {
						return b.all(t, name).Lock(as(v.ctx, "second"))
					}
					ok, err := b.all(t, name).TryLock(as(v.ctx, "second"), 10*time.Second, 0)
					if !ok {
						t.Errorf("limited: %v, %v", ok, err)
					}
					return err
				})
				v.pass(500 * time.Millisecond)
				v.s[0].refuse("")
				<-first.done
				must(t, first.err)
				must(t, b[0].NewLock(name).Unlock(as(v.ctx, "first")))
				<-second.done
				if second.err != nil {
					t.Errorf("limited %v: %v", limited, second.err)
				}
			})
		})
	}
}

// One connection is cut under a call of this process that waits for the member: it is busy still.
func TestOneCutIsNoSilence(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		must(t, a[0].NewLock(name).LockLease(as(v.ctx, "x"), time.Hour))
		lctx, end := context.WithCancel(as(v.ctx, "first"))
		first := begin(func() error { return b[0].NewLock(name).Lock(lctx) })
		v.pass(10 * time.Millisecond)
		var cut atomic.Int32
		now := make(chan struct{}, 1)
		v.s[0].dropped(func() bool {
			if cut.Add(1) != 1 {
				return false
			}
			now <- struct{}{}
			return true
		})
		<-now
		v.pass(time.Millisecond)
		if ok, err := b.all(t, name).TryLock(as(v.ctx, "p"), 0, 0); ok || err != nil {
			t.Errorf("TryLock = %v, %v", ok, err)
		}
		end()
		<-first.done
	})
}

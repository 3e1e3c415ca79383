package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/redlatch/redlatch/reentrant"
)

// All that there is to know: the holder, its holds, the time left, the token, and who waits, by arrival and in whatever
// Client, with names.
func TestTimeInfo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		billing := v.client(reentrant.WithClientName("billing"))
		reports := v.client(reentrant.WithClientName("reports"))
		nameless := v.client()
		l := billing.NewLock("order:42", reentrant.WithFencing())
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		must(t, l.Lock(v.ctx))
		began := time.Now()
		var waiting []*pending
		for n, c := range []*reentrant.Client{reports, billing, nameless} {
			ctx := reentrant.WithOwner(v.ctx, strconv.Itoa(n)) // like a goroutine's id, and yet no goroutine
			waiting = append(waiting, begin(func() error { return c.NewLock("order:42", reentrant.WithFencing()).Do(ctx, doNothing) }))
			v.pass(lease / 10)
		}
		info, err := billing.Inspect(v.ctx, "order:42")
		must(t, err)
		host, _ := os.Hostname()
		label := func(name string) string { return fmt.Sprintf("%s@%s:%d", name, host, os.Getpid()) }
		want := reentrant.Party{
			Field: hold.Owner(), From: reentrant.FromGo, Client: billing.ID(), Name: label("billing"), Here: true, Thread: goid.Get(),
		}
		if !info.Held || info.Kept || info.Holder != want || info.Count != 2 || len(info.Others) != 0 || info.Token != hold.Token() {
			t.Errorf("%+v, want held by %+v", info, want)
		}
		if info.TTL <= 0 || info.TTL > lease || info.Name != "order:42" || info.Redisson != 0 || !info.At.Equal(time.Now()) {
			t.Errorf("%+v", info)
		}
		if len(info.Waiters) != 3 {
			t.Fatalf("%+v", info.Waiters)
		}
		for n, want := range []reentrant.Party{
			{From: reentrant.FromGo, Client: reports.ID(), Name: label("reports")},
			{From: reentrant.FromGo, Client: billing.ID(), Name: label("billing"), Here: true, Owner: "1", Field: billing.ID() + ":=1"},
			{From: reentrant.FromGo, Client: nameless.ID()},
		} {
			got := info.Waiters[n]
			if off := got.Since.Sub(began.Add(time.Duration(n) * lease / 10)).Abs(); got.Party != want || off > lease/100 {
				t.Errorf("waiter %d is %+v, want %+v; off by %v", n, got, want, off)
			}
		}
		if s := info.String(); strings.Contains(s, "\n") || !strings.Contains(s, label("billing")+" (goroutine ") || !strings.Contains(s, "2 holds") {
			t.Error(s)
		}
		there, err := nameless.NewLock("order:42").Info(v.ctx)
		must(t, err)
		// The one that waits in the holder's own Client is not in Redis.
		if there.Holder.Here || there.Holder.Name != label("billing") || len(there.Waiters) != 2 || !there.Waiters[1].Here {
			t.Errorf("%+v", there)
		}
		must(t, l.Unlock(v.ctx))
		must(t, hold.Release(v.ctx))
		for _, w := range waiting {
			must(t, w.wait())
		}
	})
}

// A free lock is no error; a key that is no lock, a bad name and a closed Client are.
func TestTimeInfoErrors(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		info, err := c.Inspect(v.ctx, "free")
		if err != nil || info.Held || info.TTL != 0 || info.Count != 0 || info.Holder != (reentrant.Party{}) || info.String() != "free: free" {
			t.Errorf("%+v, %v", info, err)
		}
		must(t, v.mini.Set("text", "x"))
		_, err = c.Inspect(v.ctx, "text")
		wants(t, err, reentrant.ErrForeignKey)
		_, err = c.Inspect(v.ctx, "")
		wants(t, err, reentrant.ErrInvalidName)
		v.refuseAll("ERR no")
		if _, err = c.Inspect(v.ctx, "free"); err == nil || !strings.Contains(err.Error(), "ERR no") {
			t.Error(err)
		}
		v.refuseAll("")
		must(t, c.Close(v.ctx))
		_, err = c.Inspect(v.ctx, "free")
		wants(t, err, reentrant.ErrClosed)
	})
}

// It reads only.
func TestTimeInfoWritesNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		for range 2 {
			_, err := c.Inspect(v.ctx, "job")
			must(t, err)
			if keys := v.mini.Keys(); len(keys) != 0 {
				t.Errorf("%v", keys)
			}
		}
		_, err := c.NewLock("job").Acquire(asHolder(t), reentrant.WithFixedLease(time.Minute))
		must(t, err)
		v.pass(time.Second)
		_, err = c.Inspect(v.ctx, "job")
		must(t, err)
		if ttl := v.ttl("job"); ttl != time.Minute-time.Second {
			t.Errorf("TTL %v", ttl)
		}
	})
}

// Redisson's holder, a lock left to nobody, and what neither library has written.
func TestTimeInfoOfOthers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		const java = "285475da-9152-4c83-822a-67ee2f116a79"
		v.mini.HSet("java", java+":54", "2")
		v.mini.HSet("odd", "somebody", "x")
		for name, want := range map[string]struct {
			reentrant.Party
			text string
		}{
			"java": {reentrant.Party{Field: java + ":54", From: reentrant.FromJava, Client: java, Thread: 54},
				"java: held by " + java + " (Java, thread 54), without an end, 2 holds"},
			"odd": {reentrant.Party{Field: "somebody"}, `odd: held by "somebody", without an end`},
		} {
			info, err := c.Inspect(v.ctx, name)
			must(t, err)
			if info.Holder != want.Party || info.TTL >= 0 || info.String() != want.text {
				t.Errorf("%+v: %v", info, info)
			}
		}
		hold, err := c.NewLock("kept").Acquire(asHolder(t))
		must(t, err)
		must(t, hold.ReleaseAfter(v.ctx, time.Minute))
		info, err := c.Inspect(v.ctx, "kept")
		must(t, err)
		if !info.Held || !info.Kept || info.Holder.Owner != "" || info.Holder.Client != c.ID() || !info.Holder.Here {
			t.Errorf("%+v", info)
		}
		if want := "kept: released by " + c.ID() + ", kept for 1m0s more"; info.String() != want {
			t.Errorf("%v, want %s", info, want)
		}
	})
}

// After write-behind hand-offs the holder is the present one.
func TestTimeInfoBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithHandoff(reentrant.WriteBehind))
		l := c.NewLock("job")
		first, err := l.Acquire(reentrant.WithOwner(v.ctx, "a"))
		must(t, err)
		var second *reentrant.Hold
		next := begin(func() (err error) { second, err = l.Acquire(reentrant.WithOwner(v.ctx, "b")); return err })
		v.pass(time.Millisecond)
		must(t, first.Release(v.ctx))
		must(t, next.wait())
		info, err := l.Info(v.ctx)
		must(t, err)
		if info.Holder.Owner != "b" {
			t.Errorf("%v", info)
		}
		must(t, second.Release(v.ctx))
	})
}

// The name is there as long as the Client is in use and a minute more, and goes with Close.
func TestTimeClientName(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithClientName("billing"), reentrant.WithPrefix("app:"))
		key := "redlatch_client:{app:" + c.ID() + "}"
		if keys := v.mini.Keys(); len(keys) != 0 {
			t.Fatalf("written before it is used: %v", keys)
		}
		hold, err := c.NewLock("job").Acquire(asHolder(t))
		must(t, err)
		for range 20 {
			v.pass(17 * time.Second)
			if left := v.ttl(key); left < 40*time.Second {
				t.Fatalf("%v left", left)
			}
		}
		if name, err := v.mini.Get(key); err != nil || !strings.HasPrefix(name, "billing@") || !strings.HasSuffix(name, ":"+strconv.Itoa(os.Getpid())) {
			t.Errorf("%q, %v", name, err)
		}
		must(t, hold.Release(v.ctx))
		v.pass(2 * time.Minute)
		if v.mini.Exists(key) {
			t.Error("there, though the Client is not in use")
		}
		must(t, c.NewLock("job").Do(asHolder(t), doNothing)) // used anew
		v.pass(time.Millisecond)
		if !v.mini.Exists(key) {
			t.Error("not there")
		}
		must(t, c.Close(v.ctx))
		if keys := v.mini.Keys(); len(keys) != 0 {
			t.Errorf("left: %v", keys)
		}
	})
}

// Redis refuses the name: locks go on, and the name is there when it does not any more.
func TestTimeClientNameRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithClientName("billing"))
		v.onCommand(func(cmd string, args []string) string {
			if cmd == "SET" && strings.HasPrefix(args[0], "redlatch_client") {
				return "NOPERM"
			}
			return ""
		})
		hold, err := c.NewLock("job").Acquire(asHolder(t))
		must(t, err)
		v.pass(time.Minute)
		v.onCommand(nil)
		v.pass(20 * time.Second)
		if !v.mini.Exists("redlatch_client:{" + c.ID() + "}") {
			t.Error("not there")
		}
		must(t, hold.Release(v.ctx))
	})
}

// A Client without a name writes none, and a text that is none is not shown.
func TestTimeClientNameOfOthers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold, err := a.NewLock("job").Acquire(asHolder(t))
		must(t, err)
		v.pass(time.Millisecond)
		if keys := v.mini.Keys(); len(keys) != 1 {
			t.Errorf("%v", keys)
		}
		for _, forged := range []string{"a\nb", "\x1b[2J", strings.Repeat("x", 1000), "\xff"} {
			must(t, v.mini.Set("redlatch_client:{"+a.ID()+"}", forged))
			if info, err := b.Inspect(v.ctx, "job"); err != nil || info.Holder.Name != "" {
				t.Errorf("%q, %v", info.Holder.Name, err)
			}
		}
		must(t, hold.Release(v.ctx))
	})
}

func TestWithClientName(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		for _, name := range []string{"", strings.Repeat("x", 65), "a\nb", "\xff"} {
			if _, err := reentrant.New(v.rdb[0], reentrant.WithClientName(name)); !errors.Is(err, reentrant.ErrInvalidOption) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

func doNothing(context.Context) error { return nil }

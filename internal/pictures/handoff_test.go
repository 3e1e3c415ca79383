package pictures

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/reentrant"
)

// wire counts the scripts of one process.
type wire struct{ scripts atomic.Int64 }

func (w *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && err == nil { // the first time Redis does not know the script
			w.scripts.Add(1)
		}
		return err
	}
}

func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// handing is a lock that goes from one process to another.
type handing struct {
	asked   int64 // scripts of the waiter until it waits
	more    int64 // scripts of the waiter from then on until it holds the lock
	release int64 // scripts of the release
	how     reentrant.How
}

func recordHandOff(t *testing.T) (h handing) {
	r := redlatchtest.New(t)
	process := func(w *wire, opts ...reentrant.Option) *reentrant.Client {
		rdb := r.RedisClient()
		rdb.AddHook(w)
		c, err := reentrant.New(rdb, opts...)
		must(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		must(t, c.NewLock("warm").Do(t.Context(), func(context.Context) error { return nil })) // Redis knows the scripts
		return c
	}
	var of, to wire
	a := process(&of)
	b := process(&to, reentrant.WithEvents(reentrant.Events{Acquired: func(e reentrant.Event) { h.how = e.How }}))
	hold, err := a.NewLock("order:42").Acquire(t.Context())
	must(t, err)
	before := to.scripts.Load()
	granted := make(chan struct{})
	go func() {
		defer close(granted)
		next, err := b.NewLock("order:42").Acquire(t.Context())
		if err == nil {
			h.more = to.scripts.Load() - before - h.asked
			err = next.Release(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	h.asked = to.scripts.Load() - before
	sent := of.scripts.Load()
	must(t, hold.Release(t.Context()))
	h.release = of.scripts.Load() - sent
	<-granted
	return h
}

func handOff(t *testing.T) []byte {
	h := recordHandOff(t)
	if h.release != 1 || h.more != 0 || h.how != reentrant.HowMessage {
		t.Fatalf("not one script and one message: %+v", h)
	}
	const a, r, b = 110.0, 400.0, 690.0
	c := &canvas{}
	c.text(16, 28, "h", "start", "A lock goes from one process to another")
	c.text(16, 48, "m", "start", fmt.Sprintf("Recorded: %d script of the holder, 1 message, %d scripts of the waiter between release and grant.", h.release, h.more))
	for i, x := range []float64{a, r, b} {
		c.text(x, 82, "w", "middle", []string{"process A", "Redis", "process B"}[i])
		c.line("dash", x, 92, x, 372)
	}
	c.box("hold", a-5, 92, 10, 170)
	c.arrow(b, r, 126, "acquire order:42")
	c.arrow(r, b, 156, "busy; registered, with a nonce")
	c.text(b+12, 190, "m", "start", "waits, and")
	c.text(b+12, 206, "m", "start", "sends nothing")
	c.arrow(a, r, 262, "release order:42")
	c.text(r+10, 284, "m", "start", "one script: A's field out, B's field in")
	c.arrow(r, b, 312, "message: the nonce")
	c.arrow(r, a, 312, "released")
	c.box("other", b-5, 312, 10, 60)
	c.text(b+12, 340, "good", "start", "holds it")
	c.text(400, 402, "m", "middle", "A waiter that polls learns of the release at its next try: milliseconds or seconds later, and each try is a command.")
	return c.svg(420, "A lock goes from one process to another",
		"Process B asks, hears that the lock is busy, is registered, and sends nothing more. Process A releases by one script, which gives the lock to B and publishes B's nonce. B hears it, and holds the lock.")
}

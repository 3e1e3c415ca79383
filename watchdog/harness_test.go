package watchdog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/watchdog"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const lease = 30 * time.Second

var validity = lease - watchdog.Drift(lease)

var errRedis = errors.New("redis: connection refused")

// runAhead has w's wall clock run ahead of the monotonic one by so many nanoseconds, as after a
// suspension. Call it before the first Add.
func runAhead(w *watchdog.Watchdog, by *atomic.Int64) {
	w.SetWall(func(now time.Time) time.Time { return now.Round(0).Add(time.Duration(by.Load())) })
}

// holder is what holds a lease: the watch by value, and the calls that it got.
type holder struct {
	watchdog.Watch

	mu      sync.Mutex
	renewed []time.Time // the validities that it was given
	lost    []watchdog.Cause
	lostAt  time.Time
}

func (h *holder) Renewed(validUntil time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = append(h.renewed, validUntil)
}

func (h *holder) Lost(cause watchdog.Cause) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, cause)
	h.lostAt = time.Now()
}

func (h *holder) renewals() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.renewed)
}

func (h *holder) losses() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lost)
}

func (h *holder) mustBeHeld(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.lost) > 0 {
		t.Fatalf("lost (%v) after %v", h.lost, h.lostAt)
	}
}

func (h *holder) mustBeLost(t *testing.T, at time.Time, cause watchdog.Cause) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.lost, []watchdog.Cause{cause}) {
		t.Fatalf("heard %v, want one Lost(%v)", h.lost, cause)
	}
	if !h.lostAt.Equal(at) {
		t.Fatalf("lost %v away from when it should", h.lostAt.Sub(at))
	}
}

// redis answers renewals by script and remembers when it was asked.
type redis struct {
	// answer is called for every call, concurrently; nil renews.
	answer func(n int, ctx context.Context, targets []watchdog.Target) []watchdog.Result

	mu       sync.Mutex
	asked    []time.Time
	sizes    []int
	inflight int
	most     int
	failures []error
}

func (r *redis) renew(ctx context.Context, targets []watchdog.Target, l time.Duration) []watchdog.Result {
	r.mu.Lock()
	n := len(r.asked)
	r.asked = append(r.asked, time.Now())
	r.sizes = append(r.sizes, len(targets))
	r.inflight++
	r.most = max(r.most, r.inflight)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.inflight--
		r.mu.Unlock()
	}()
	if r.answer == nil {
		return all(watchdog.Renewed, targets)
	}
	return r.answer(n, ctx, targets)
}

func (r *redis) onFailure(targets int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, err)
}

func (r *redis) calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// largest is how many targets the largest call had.
func (r *redis) largest() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Max(r.sizes)
}

func (r *redis) start(cfg watchdog.Config) *watchdog.Watchdog {
	cfg.Renew, cfg.OnFailure = r.renew, r.onFailure
	if cfg.Lease == 0 {
		cfg.Lease = lease
	}
	return watchdog.New(cfg)
}

func all(o watchdog.Outcome, targets []watchdog.Target) []watchdog.Result {
	res := make([]watchdog.Result, len(targets))
	for i := range res {
		res[i].Outcome = o
		if o == watchdog.Failed {
			res[i].Err = errRedis
		}
	}
	return res
}

// renewable is the schedule of a lease taken now.
func renewable() watchdog.Schedule {
	return watchdog.Schedule{ValidUntil: watchdog.Validity(time.Now(), lease), Renew: true}
}

func fixed(d time.Duration) watchdog.Schedule {
	return watchdog.Schedule{ValidUntil: watchdog.Validity(time.Now(), d)}
}

func target(i int) watchdog.Target {
	return watchdog.Target{Key: fmt.Sprint("lock:", i), Owner: "owner"}
}

func closeNow(t *testing.T, w *watchdog.Watchdog) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		t.Error(err)
	}
}

// after lets virtual time pass and everything that is due in it happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func slow(d time.Duration) func(int, context.Context, []watchdog.Target) []watchdog.Result {
	return func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
		time.Sleep(d)
		return all(watchdog.Renewed, ts)
	}
}

package faulttests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// rwOracle sees who reads and who writes, all in one process.
type rwOracle struct {
	t                *testing.T
	readers, writers atomic.Int64
	reads, writes    atomic.Int64
}

func (x *rwOracle) read(d time.Duration) {
	x.readers.Add(1)
	defer x.readers.Add(-1)
	if x.writers.Load() > 0 {
		x.t.Error("a read beside a write")
	}
	time.Sleep(d)
	if x.writers.Load() > 0 {
		x.t.Error("a write beside a read")
	}
	x.reads.Add(1)
}

func (x *rwOracle) write(d time.Duration) {
	if x.writers.Add(1) > 1 || x.readers.Load() > 0 {
		x.t.Error("a write beside another hold")
	}
	defer x.writers.Add(-1)
	time.Sleep(d)
	x.writes.Add(1)
}

// rwProgram is what one owner does: shared and fixed reads, nested ones, writes, and reads that go on after a
// write. Its calls may fail; then it holds nothing.
type rwProgram struct {
	*rwOracle
	rand *rand.Rand
	rw   *reentrant.ReadWriteLock
	hold time.Duration // of each step, at most
	all  reentrant.AcquireOption
}

// step is one round, with a limit on each wait.
func (p *rwProgram) step(ctx context.Context) {
	hold := time.Duration(p.rand.Int64N(int64(p.hold)))
	switch kind := p.rand.IntN(8); kind {
	case 0, 1:
		w, err := p.rw.Write().Acquire(ctx, p.all)
		if err != nil {
			return
		}
		if kind == 0 {
			p.write(hold)
			_ = w.Release(ctx)
			return
		}
		r, err := p.rw.Read().Acquire(ctx, p.all)
		p.write(hold)
		_ = w.Release(ctx)
		if err == nil {
			p.read(hold)
			_ = r.Release(ctx)
		}
	case 2:
		p.reads1(ctx, hold, reentrant.WithFixedLease(time.Minute))
	default:
		p.reads1(ctx, hold)
	}
}

func (p *rwProgram) reads1(ctx context.Context, hold time.Duration, opts ...reentrant.AcquireOption) {
	r, err := p.rw.Read().Acquire(ctx, append(opts, p.all)...)
	if err != nil {
		return
	}
	p.read(hold / 2)
	if p.rand.IntN(4) == 0 {
		if inner, err := p.rw.Read().Acquire(ctx, p.all); err == nil {
			p.read(hold / 2)
			_ = inner.Release(ctx)
		}
	}
	_ = r.Release(ctx)
}

// nothingLeft wants the lock free, and no marker of it, long before a lease ends.
func nothingLeft(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	redistest.Eventually(t, 15*time.Second, "nothing is left of "+name, func() bool {
		for _, key := range s.Do(t, "KEYS", "*"+name+"*").([]any) {
			if k := fmt.Sprint(key); k == name || strings.Contains(k, ":rwlock_timeout:") {
				return false
			}
		}
		return true
	})
}

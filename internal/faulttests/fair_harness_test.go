package faulttests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// fairTurns has calls stand in line one after the other, and checks in which order they hold the lock, and that
// each holds it alone.
type fairTurns struct {
	t     *testing.T
	name  string
	node  func() *redistest.Server // has the lock now
	holds atomic.Int64
	group sync.WaitGroup

	mu    sync.Mutex
	order []int
}

// stands says whether the owner of call i is in the line.
func (f *fairTurns) stands(i int) bool {
	line, err := f.node().Client(f.t).LRange(f.t.Context(), "redisson_lock_queue:{"+f.name+"}", 0, -1).Result()
	return err == nil && slices.ContainsFunc(line, func(ticket string) bool {
		return strings.Contains(ticket, fmt.Sprintf(":f%d#", i))
	})
}

// joins begins call i, which holds the lock for that long, and returns when Redis has it in the line.
func (f *fairTurns) joins(c *reentrant.Client, i int, hold time.Duration) {
	f.t.Helper()
	f.group.Go(func() { f.turn(c, i, hold) })
	redistest.Eventually(f.t, 20*time.Second, fmt.Sprintf("call %d is in the line of %s", i, f.name), func() bool { return f.stands(i) })
}

func (f *fairTurns) turn(c *reentrant.Client, i int, hold time.Duration) {
	err := c.NewFairLock(f.name).Do(owner(f.t.Context(), fmt.Sprint("f", i)), func(context.Context) error {
		if f.holds.Add(1) > 1 {
			f.t.Errorf("%s: call %d holds beside another one", f.name, i)
		}
		defer f.holds.Add(-1)
		f.mu.Lock()
		f.order = append(f.order, i)
		f.mu.Unlock()
		time.Sleep(hold)
		return nil
	})
	if err != nil {
		f.t.Errorf("%s: call %d: %v", f.name, i, err)
	}
}

// want waits for n calls, and wants them in their order.
func (f *fairTurns) want(n int) {
	f.t.Helper()
	f.group.Wait()
	if len(f.order) != n || !slices.IsSorted(f.order) {
		f.t.Errorf("%s: the order is %v", f.name, f.order)
	}
}

// wantEach waits for n calls, and wants those of each Client in their order.
func (f *fairTurns) wantEach(n int, client func(i int) int) {
	f.t.Helper()
	f.group.Wait()
	last := make(map[int]int)
	for _, i := range f.order {
		if before, ok := last[client(i)]; ok && before > i {
			f.t.Errorf("%s: the order is %v", f.name, f.order)
		}
		last[client(i)] = i
	}
	if len(f.order) != n {
		f.t.Errorf("%s: %d turns of %d", f.name, len(f.order), n)
	}
}

package reentrant_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// evalshas is how many scripts the server has run.
func evalshas(t testing.TB, rdb redis.UniversalClient) (n int) {
	t.Helper()
	stats, err := rdb.Info(context.Background(), "commandstats").Result()
	must(t, err)
	for line := range strings.Lines(stats) {
		if rest, found := strings.CutPrefix(line, "cmdstat_evalsha:calls="); found {
			_, err := fmt.Sscanf(rest, "%d", &n)
			must(t, err)
		}
	}
	return n
}

// Readers of one Client that overlap cost Redis one script in twenty reads or fewer.
func TestOverlappingReadersShareCommands(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client(t)
	rw := newClient(t, s.Client(t)).NewReadWriteLock("rw")
	const readers, each = 64, 500
	began := time.Now()
	var group sync.WaitGroup
	for i := range readers {
		group.Go(func() {
			me := owner(t.Context(), fmt.Sprint("r", i))
			for range each {
				must(t, rw.RLock(me))
				runtime.Gosched()
				must(t, rw.RUnlock(me))
			}
		})
	}
	group.Wait()
	took, scripts := time.Since(began), evalshas(t, rdb)
	t.Logf("%.0f reads a second, %.4f scripts a read", readers*each/took.Seconds(), float64(scripts)/(readers*each))
	if scripts > readers*each/20 {
		t.Errorf("%d scripts for %d reads", scripts, readers*each)
	}
}

// BenchmarkReaders has readers of one Client come and go, beside each other; ns/op is a read's.
func BenchmarkReaders(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint("goroutines=", goroutines), func(b *testing.B) {
			rw := newClient(b, redistest.Start(b).Client(b)).NewReadWriteLock("rw")
			b.ReportAllocs()
			var group sync.WaitGroup
			for i := range goroutines {
				group.Go(func() {
					me := owner(context.Background(), fmt.Sprint("r", i))
					for range b.N / goroutines {
						must(b, rw.RLock(me))
						runtime.Gosched()
						must(b, rw.RUnlock(me))
					}
				})
			}
			group.Wait()
		})
	}
}

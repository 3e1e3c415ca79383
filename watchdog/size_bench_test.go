package watchdog_test

import (
	"strconv"
	"testing"

	"github.com/redlatch/redlatch/watchdog"
)

// BenchmarkAddRemoveAmong shows what a lock's registration costs beside few others
// and beside many.
func BenchmarkAddRemoveAmong(b *testing.B) {
	for _, watched := range []int{100, 10_000, 100_000} {
		b.Run("watched="+strconv.Itoa(watched), func(b *testing.B) {
			w := (&redis{}).start(watchdog.Config{})
			defer w.Close(b.Context())
			others := make([]quiet, watched)
			for i := range others {
				w.Add(&others[i].Watch, target(i), &others[i], renewable())
			}
			var h quiet
			to := target(watched)
			b.ReportAllocs()
			for b.Loop() {
				w.Add(&h.Watch, to, &h, renewable())
				w.Remove(&h.Watch)
			}
		})
	}
}

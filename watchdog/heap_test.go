package watchdog_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/watchdog"
)

func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q watchdog.Queue
		var xs [30]watchdog.Watch
		want := map[*watchdog.Watch]int64{}
		for i := range xs {
			at := rapid.Int64Range(-20, 20).Draw(t, "at")
			q.Set(&xs[i], at)
			want[&xs[i]] = at
		}
		some := func(t *rapid.T) *watchdog.Watch { return &xs[rapid.IntRange(0, len(xs)-1).Draw(t, "watch")] }
		pop := func() {
			x, at := q.Pop()
			if want[x] != at {
				t.Fatalf("popped a watch at %d that is due at %d", at, want[x])
			}
			for _, other := range want {
				if other < at {
					t.Fatalf("popped %d before %d", at, other)
				}
			}
			delete(want, x)
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				x, at := some(t), rapid.Int64Range(-20, 20).Draw(t, "at")
				q.Set(x, at)
				want[x] = at
			},
			"remove": func(t *rapid.T) {
				x := some(t)
				if _, in := want[x]; q.Remove(x) != in {
					t.Fatal("Remove is wrong")
				}
				delete(want, x)
			},
			"pop": func(t *rapid.T) {
				if q.Len() > 0 {
					pop()
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(want) {
					t.Fatalf("%d queued, want %d", q.Len(), len(want))
				}
			},
		})
		for q.Len() > 0 {
			pop()
		}
	})
}

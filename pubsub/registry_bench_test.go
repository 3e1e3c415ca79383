package pubsub

import (
	"strconv"
	"testing"
	"time"
)

// benchRegistry has some channels, each confirmed and listened to.
func benchRegistry(b *testing.B, channels int) *registry {
	b.Helper()
	r := &registry{channels: make(map[string]*channel), linger: time.Second}
	for i := range channels {
		r.add(&Subscription{}, "other:"+strconv.Itoa(i))
	}
	confirm(b, r)
	return r
}

// confirm stands for the connection: it sends what is pending and answers it.
func confirm(b *testing.B, r *registry) {
	subscribe, unsubscribe := r.collect()
	for _, name := range subscribe {
		if _, err := r.answered(name, true, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range unsubscribe {
		if _, err := r.answered(name, false, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListenClose is one more listener of a channel that has some, one of a
// channel that lingers, and one of a channel that is new each time.
func BenchmarkListenClose(b *testing.B) {
	for _, channels := range []int{100, 10_000} {
		b.Run("channels="+strconv.Itoa(channels), func(b *testing.B) {
			b.Run("shared", func(b *testing.B) {
				r := benchRegistry(b, channels)
				b.ReportAllocs()
				for b.Loop() {
					s := &Subscription{}
					r.add(s, "other:0")
					r.remove(s, time.Now())
				}
			})
			b.Run("lingering", func(b *testing.B) {
				r := benchRegistry(b, channels)
				r.add(&Subscription{}, "mine")
				confirm(b, r)
				r.remove(r.channels["mine"].listeners[0], time.Now())
				b.ReportAllocs()
				for b.Loop() {
					s := &Subscription{}
					r.add(s, "mine")
					r.remove(s, time.Now())
				}
			})
			b.Run("new", func(b *testing.B) {
				r := benchRegistry(b, channels)
				b.ReportAllocs()
				for b.Loop() {
					s := &Subscription{}
					r.add(s, "mine")
					confirm(b, r)
					r.remove(s, time.Now())
					r.expire(r.channels["mine"])
					confirm(b, r)
				}
			})
		})
	}
}

package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// every is how often a key is looked at.
const every = 2 * time.Millisecond

// track is the life of the lock's key on one server, as seen by an onlooker with a
// connection of its own.
type track struct {
	server string

	mu    sync.Mutex
	looks []look
	until time.Duration // the server was lost then; 0: it was not
}

// look is the key at one instant between asked and at.
type look struct {
	asked  time.Duration
	at     time.Duration
	holder string        // empty: there is no key
	ttl    time.Duration // negative: the key has none
}

// watch looks at the key until ctx ends. name tells whose value it has.
func (t *track) watch(ctx context.Context, rec *recording, rdb *redis.Client, key string, name func(string) string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := rec.now()
	for {
		asked := rec.now()
		l, err := lookAt(ctx, rdb, key, name)
		l.asked, l.at = asked, rec.now()
		if err == nil && !t.add(l) {
			return
		}
		rec.stalled(l.at - last)
		last = l.at
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lookAt reads the key, which is a string or a hash.
func lookAt(ctx context.Context, rdb *redis.Client, key string, name func(string) string) (look, error) {
	pipe := rdb.Pipeline()
	value, fields, ttl := pipe.Get(ctx, key), pipe.HKeys(ctx, key), pipe.PTTL(ctx, key)
	_, _ = pipe.Exec(ctx) // one of the two complains of the other's type
	if err := ttl.Err(); err != nil {
		return look{}, err
	}
	l := look{ttl: ttl.Val()}
	if l.ttl == -2 {
		return look{}, nil
	}
	if l.holder = name(value.Val()); len(fields.Val()) > 0 {
		l.holder = name(fields.Val()[0])
	}
	return l, nil
}

func (t *track) add(l look) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until > 0 {
		return false
	}
	t.looks = append(t.looks, l)
	return true
}

// lose ends the track: the server is gone.
func (t *track) lose(at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = at
}

func (r *recording) stalled(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stall = max(r.stall, d)
}

// life is a time during which a key had one holder.
type life struct {
	holder   string
	from, to time.Duration
	looks    []look
	gone     bool // the key was seen to be gone at to, or to be another's
}

// lives are the holders of the key, in their order.
func (t *track) lives() (all []life) {
	for _, l := range t.looks {
		n := len(all) - 1
		if n >= 0 && !all[n].gone {
			all[n].to = l.at
			if all[n].holder == l.holder {
				all[n].looks = append(all[n].looks, l)
				continue
			}
			all[n].gone = true
		}
		if l.holder != "" {
			all = append(all, life{holder: l.holder, from: l.at, to: l.at, looks: []look{l}})
		}
	}
	return all
}

// left is the TTL at the last look.
func (l life) left() time.Duration { return l.looks[len(l.looks)-1].ttl }

// raised is how often the TTL was set anew.
func (l life) raised() (n int) {
	for i := 1; i < len(l.looks); i++ {
		if l.looks[i].ttl > l.looks[i-1].ttl+every {
			n++
		}
	}
	return n
}

// nameOf tells who set a value: those of the home-made locks begin with a name, or are
// nobody's.
func nameOf(value string) string {
	name, _, _ := strings.Cut(value, "-")
	return name
}

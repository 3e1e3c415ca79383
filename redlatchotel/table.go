package redlatchotel

import (
	"maps"
	"sync"
	"sync/atomic"
)

// table is a map that grows up to a limit and is read on the path of the lock. A reader takes no mutex: a
// writer replaces the whole map. The zero table is empty.
type table[K comparable, V any] struct {
	entries atomic.Pointer[map[K]V]
	mu      sync.Mutex // of the writers
}

func (t *table[K, V]) get(key K) (v V, found bool) {
	if entries := t.entries.Load(); entries != nil {
		v, found = (*entries)[key]
	}
	return v, found
}

// add returns the value of key, which it makes if key has none. It returns full, and adds nothing, if the table has most
// entries.
func (t *table[K, V]) add(key K, most int, make func(K) V, full V) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, found := t.get(key); found {
		return v
	}
	next := map[K]V{}
	if entries := t.entries.Load(); entries != nil {
		if len(*entries) >= most {
			return full
		}
		next = maps.Clone(*entries)
	}
	next[key] = make(key)
	t.entries.Store(&next)
	return next[key]
}

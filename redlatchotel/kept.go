package redlatchotel

import (
	"sync"
	"sync/atomic"
)

// kept is what is kept of calls from one event to another. Most calls neither wait nor are traced: for them take costs
// an atomic load while nothing is kept.
type kept[V any] struct {
	n    atomic.Int64
	mu   sync.Mutex
	vals map[call]V // guarded by mu
}

func (k *kept[V]) put(of call, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.vals == nil {
		k.vals = make(map[call]V)
	}
	k.vals[of] = v
	k.n.Store(int64(len(k.vals)))
}

func (k *kept[V]) get(of call) (v V, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, found = k.vals[of]
	return v, found
}

// take removes what is kept of a call. An event that put it came before, so n counts it.
func (k *kept[V]) take(of call) (v V, found bool) {
	if k.n.Load() == 0 {
		return v, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, found = k.vals[of]; found {
		delete(k.vals, of)
		k.n.Store(int64(len(k.vals)))
	}
	return v, found
}

package main

import (
	"strings"
	"sync"
	"time"
)

// desk is where the work is done. It sees who is there at the same time, which the lock
// is to prevent.
type desk struct {
	mu      sync.Mutex
	who     []string
	crowded time.Time // guarded by mu; since when there are two

	together time.Duration // guarded by mu; how long there were two
}

// enter says who is there now.
func (d *desk) enter(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.who = append(d.who, name)
	if len(d.who) == 2 {
		d.crowded = time.Now()
	}
	return strings.Join(d.who, " and ")
}

func (d *desk) leave(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.who) == 2 {
		d.together += time.Since(d.crowded)
	}
	for i, who := range d.who {
		if who == name {
			d.who = append(d.who[:i], d.who[i+1:]...)
			return
		}
	}
}

// shared is how long there were two.
func (d *desk) shared() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.together
}

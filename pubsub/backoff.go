package pubsub

import (
	"math/rand/v2"
	"time"
)

// shortLived is how many doublings of the backoff remain after a subscription that was confirmed and
// then lost soon. If it started afresh each time, the hub would dial a hundred times a second a
// server that drops every subscriber (a full output buffer, a proxy). If it grew to MaxBackoff,
// waiters would hear nothing for seconds although each connection works.
const shortLived = 3

// backoff keeps attempts apart: attempts to connect, or to subscribe in a slot.
type backoff struct {
	failures int       // consecutive ones; each doubles the ceiling of the delay
	retryAt  time.Time // nothing is tried before
}

// worked notes that the last attempt succeeded, and that what it opened lasted for lived.
func (b *backoff) worked(lived time.Duration, cfg *Config) {
	b.failures = min(b.failures, shortLived)
	if lived >= cfg.MaxBackoff {
		b.failures = 0
	}
}

// failed notes a failure. The next attempt comes after a random time.
func (b *backoff) failed(now time.Time, ceiling time.Duration) {
	b.retryAt = now.Add(rand.N(ceiling))
	b.failures++
}

// ceiling is the longest delay that the next failure may cause.
func (b *backoff) ceiling(cfg *Config) time.Duration {
	d := cfg.MinBackoff
	for range b.failures {
		if d >= cfg.MaxBackoff/2 {
			return cfg.MaxBackoff
		}
		d *= 2
	}
	return d
}

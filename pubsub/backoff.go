package pubsub

import (
	"math/rand/v2"
	"time"
)

// shortLived is how many doublings of the backoff a subscription leaves that was
// confirmed and then lost soon. Starting afresh each time would let a server
// that drops every subscriber (a full output buffer, a proxy) be dialed a
// hundred times a second; growing to MaxBackoff would leave waiters deaf for
// seconds although each connection works.
const shortLived = 3

// backoff keeps attempts apart: those to connect, or to subscribe in a slot.
type backoff struct {
	failures int       // consecutive ones, each doubles the ceiling of the delay
	retryAt  time.Time // nothing is tried before
}

// worked notes that the last attempt succeeded and lasted for so long.
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

// ceiling is the longest delay that may come next.
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

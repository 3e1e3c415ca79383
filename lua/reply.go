package lua

import (
	"context"
	"time"
)

// runNumber runs a script that replies one number.
func (s *script) runNumber(ctx context.Context, p Processor, keys []string, args ...any) (int64, error) {
	r, err := s.run(ctx, p, keys, args...)
	if err != nil {
		return 0, err
	}
	return number(r, 0), nil
}

// number and text read one element of a reply. The scripts are our own, so a missing element is one
// that the script leaves out for this answer.
func number(reply []any, i int) int64 {
	if i >= len(reply) {
		return 0
	}
	n, _ := reply[i].(int64)
	return n
}

func text(reply []any, i int) string {
	if i >= len(reply) {
		return ""
	}
	s, _ := reply[i].(string)
	return s
}

// ms rounds up: a lease must not end earlier than was asked for.
func ms(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func ttl(ms int64) time.Duration {
	if ms < 0 {
		return NoTTL
	}
	return time.Duration(ms) * time.Millisecond
}

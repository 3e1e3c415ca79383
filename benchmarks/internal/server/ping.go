//go:build unix

package server

import (
	"context"
	"time"
)

// Ping is the time that n round trips of PING took, each; a pause goes before each.
func (s *Server) Ping(ctx context.Context, n int, pause time.Duration) ([]time.Duration, error) {
	times := make([]time.Duration, 0, n)
	for range n {
		if pause > 0 {
			time.Sleep(pause)
		}
		began := time.Now()
		if err := s.rdb.Ping(ctx).Err(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

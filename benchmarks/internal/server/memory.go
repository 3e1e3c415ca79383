//go:build unix

package server

import (
	"context"
	"strconv"
)

// Memory is what the server has allocated, in bytes.
func (s *Server) Memory(ctx context.Context) (int64, error) {
	text, err := s.field(ctx, "memory", "used_memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

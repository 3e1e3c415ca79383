//go:build unix

package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Clients is what is connected to the server.
type Clients struct {
	Connections   int
	Subscriptions int // of all connections together
	Channels      int // with a subscriber
}

// Clients counts them, the benchmark's own connection among them.
func (s *Server) Clients(ctx context.Context) (c Clients, err error) {
	list, err := s.rdb.ClientList(ctx).Result()
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(list) {
		c.Connections++
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			if name != "sub" && name != "psub" && name != "ssub" {
				continue
			}
			n, err := strconv.Atoi(value)
			if err != nil {
				return c, fmt.Errorf("CLIENT LIST: %q: %w", field, err)
			}
			c.Subscriptions += n
		}
	}
	channels, err := s.rdb.PubSubChannels(ctx, "*").Result()
	c.Channels = len(channels)
	return c, err
}

// Keys is how many there are.
func (s *Server) Keys(ctx context.Context) (int, error) {
	n, err := s.rdb.DBSize(ctx).Result()
	return int(n), err
}

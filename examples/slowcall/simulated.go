package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// pausedInside is paused where a process cannot be stopped. The holder is a goroutine that
// waits instead of standing still, and a gate keeps back what its connections send and
// receive. Its timers go on, which those of a stopped process do not; but then it does not
// look at its ctx before it writes.
func (s *scenario) pausedInside(ctx context.Context) error {
	var gate sync.RWMutex // write-locked while the holder is stopped
	opts := *s.rdb.Options()
	dial := redis.NewDialer(&opts)
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &gated{conn, &gate}, nil
	}
	rdb := redis.NewClient(&opts)
	defer rdb.Close()

	here, there := make(chan []byte, 1), make(chan []byte, 1)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- holder(ctx, rdb, s.name, channels{in: there, out: here}) }()
	open := sync.OnceValue(func() error { gate.Unlock(); return nil })
	stopped := false
	err := s.comeBack(ctx, stoppable{
		line:   channels{in: here, out: there},
		pause:  func() error { gate.Lock(); stopped = true; return nil },
		resume: open, pausing: "pause", resuming: "end of pause", what: "simulated",
	})
	if stopped {
		_ = open() // after an error
	}
	if err != nil {
		cancel()
	}
	err = errors.Join(err, <-ended)
	cancel()
	return err
}

// gated is a connection through a gate.
type gated struct {
	net.Conn
	gate *sync.RWMutex
}

func (c *gated) pass() {
	c.gate.RLock()
	defer c.gate.RUnlock()
}

func (c *gated) Write(b []byte) (int, error) {
	c.pass()
	return c.Conn.Write(b)
}

func (c *gated) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.pass()
	return n, err
}

// channels is a line between two goroutines.
type channels struct {
	in  <-chan []byte
	out chan<- []byte
}

func (c channels) Send(v any) error {
	message, err := json.Marshal(v)
	if err == nil {
		c.out <- message
	}
	return err
}

func (c channels) Receive(ctx context.Context, v any) error {
	select {
	case message := <-c.in:
		return json.Unmarshal(message, v)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

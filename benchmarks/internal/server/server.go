//go:build unix

// Package server runs the redis-server that is measured against.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/child"
)

// Server is a redis-server on loopback that keeps nothing on disk.
type Server struct {
	Addr string
	dir  string
	rdb  *redis.Client // the benchmark's own connection, not a peer's

	process *child.Child
}

const startWithin = 20 * time.Second

// Start runs the redis-server found in PATH until Stop. Whoever takes the port first
// is not to be taken for ours, so it tries again with another when the server exits.
func Start(ctx context.Context) (*Server, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: install Redis", err)
	}
	for range 5 {
		var s *Server
		if s, err = start(ctx, bin); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func start(ctx context.Context, bin string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redlatch-benchmarks-")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, dir: dir}
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", dir, "--logfile", filepath.Join(dir, "redis.log"))
	if s.process, err = child.Start(cmd); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.rdb = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	if err := s.awaitReady(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "redis.log"))
		s.Stop()
		return nil, fmt.Errorf("redis-server: %w\n%s", err, log)
	}
	return s, nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// awaitReady waits for the first answer, and makes sure that it is our child that
// gives it.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if conn, err := net.Dial("tcp", s.Addr); err == nil { // go-redis would log each failure
			conn.Close()
			info, err := s.rdb.Info(ctx, "server").Result()
			if err == nil && !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.process.PID())) {
				return errors.New("another server is on the port")
			}
			return err
		}
		select {
		case <-s.process.Done():
			return errors.New("it has exited")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Client is the benchmark's own connection.
func (s *Server) Client() *redis.Client { return s.rdb }

// Stop ends the server, which has nothing to save, and removes its files.
func (s *Server) Stop() {
	s.rdb.Close()
	s.process.Kill()
	os.RemoveAll(s.dir)
}

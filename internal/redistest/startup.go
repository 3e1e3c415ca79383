package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

// startTimeout bounds the wait for a first answer. Redis needs some 10 ms; the
// rest is for machines that run many tests at once.
const startTimeout = 20 * time.Second

// errAddrInUse means that somebody else listens on the port.
var errAddrInUse = errors.New("address already in use")

// start gives the server a port and runs it; if another program is on the port
// after all, it tries the next.
func (s *Server) start() error {
	for try := 0; ; try++ {
		if err := s.claimPorts(); err != nil {
			return err
		}
		s.admin = newAdmin(s.Addr())
		err := s.writeConfig()
		if err == nil {
			err = s.run()
		}
		if err == nil {
			return nil
		}
		s.admin.Close()
		s.releasePorts()
		if !errors.Is(err, errAddrInUse) || try == 9 {
			return err
		}
	}
}

func (s *Server) claimPorts() (err error) {
	if s.conf.clusterNode {
		s.port, s.bus, err = loopback.ClaimPair(busOffset)
	} else {
		s.port, err = loopback.Claim()
	}
	return err
}

func (s *Server) releasePorts() {
	s.port.Release()
	if s.bus != nil {
		s.bus.Release()
	}
}

func (s *Server) configPath() string { return filepath.Join(s.Dir, "redis.conf") }
func (s *Server) logPath() string    { return filepath.Join(s.Dir, "redis.log") }

func (s *Server) writeConfig() error {
	lines := []string{
		fmt.Sprintf("port %d", s.port.Number),
		"bind 127.0.0.1",
		fmt.Sprintf("dir %q", s.Dir),
	}
	if !s.conf.sentinel {
		lines = append(lines,
			`save ""`,
			"appendonly no",
			// The default waits 5 s for further replicas before the first sync.
			"repl-diskless-sync-delay 0",
		)
	}
	lines = append(lines, s.conf.lines...)
	return os.WriteFile(s.configPath(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// run launches the server and waits until it answers. On an error nothing is
// left running. The caller holds mu or is the only one to know s.
func (s *Server) run() error {
	log, err := os.Create(s.logPath())
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(s.bin, append([]string{s.configPath()}, s.conf.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), s.conf.env...)
	proc, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.proc = proc
	if err := s.awaitReady(); err != nil {
		proc.Kill()
		return s.explain(err)
	}
	return nil
}

// awaitReady polls until the server answers PING, and makes sure that it is our
// child which answers and not a stranger on the same port.
func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ping(ctx)
		if err == nil {
			return s.checkIdentity(ctx)
		}
		select {
		case <-tick.C:
		case <-s.proc.Done():
			return errors.New("the server has exited")
		case <-ctx.Done():
			return fmt.Errorf("no answer to PING within %v: %w", startTimeout, err)
		}
	}
}

// ping first tries the bare port, since go-redis logs each dial that fails.
func (s *Server) ping(ctx context.Context) error {
	conn, err := net.Dial("tcp", s.port.Addr())
	if err != nil {
		return err
	}
	conn.Close()
	return s.admin.Ping(ctx).Err()
}

func (s *Server) checkIdentity(ctx context.Context) error {
	info, err := s.admin.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.proc.PID())) {
		return errAddrInUse
	}
	return nil
}

// explain adds the end of the server's log to err.
func (s *Server) explain(err error) error {
	log, readErr := os.ReadFile(s.logPath())
	if readErr != nil {
		return err
	}
	if bytes.Contains(log, []byte("Address already in use")) {
		err = errAddrInUse
	}
	return fmt.Errorf("%w; end of the server's log:\n%s", err, log[max(0, len(log)-2000):])
}

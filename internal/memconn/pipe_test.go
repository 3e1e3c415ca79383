package memconn_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/memconn"
)

// Each end reads what the other one has written before it closed, and then the end.
func TestPipeEnds(t *testing.T) {
	for name, end := range map[string]func(*memconn.Conn) error{"Close": (*memconn.Conn).Close, "CloseWrite": (*memconn.Conn).CloseWrite} {
		t.Run(name, func(t *testing.T) {
			a, b := memconn.Pipe()
			if _, err := io.WriteString(a, strings.Repeat("x", 1<<20)); err != nil {
				t.Fatal(err)
			}
			if err := end(a); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(b); len(got) != 1<<20 || err != nil {
				t.Fatalf("read %d bytes, %v", len(got), err)
			}
			_, err := io.WriteString(b, "back")
			if closed := errors.Is(err, net.ErrClosed); closed != (name == "Close") {
				t.Errorf("the other end writes: %v", err)
			}
		})
	}
}

func TestPipeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := memconn.Pipe()
		start := time.Now()
		if err := a.SetDeadline(start.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
	})
}

// The side with room closes; the bare side has read all that was written before.
func TestBufferedCloseWrite(t *testing.T) {
	bare, far := net.Pipe()
	conn := memconn.Buffer(far)
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(bare); len(got) != 1<<20 || err != nil {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
}

package faultproxy_test

import (
	"net"
	"strings"
	"testing"
	"time"
)

// A large reply in pieces arrives whole, and not at once: more than one read is
// needed for what one write would have brought.
func TestSlice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t)
	value := strings.Repeat("0123456789", 100)
	for _, size := range []int{1, 7, 0} {
		r.proxy.Slice(size)
		if err := rdb.Set(t.Context(), "k", value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := rdb.Get(t.Context(), "k").Result(); got != value || err != nil {
			t.Fatalf("in pieces of %d: %d bytes of %d, %v", size, len(got), len(value), err)
		}
	}
	if reads := readsFor(t, r.proxy.Addr(), len(value)); reads != 1 {
		t.Errorf("%d reads for a whole reply", reads)
	}
	r.proxy.Slice(1)
	if reads := readsFor(t, r.proxy.Addr(), len(value)); reads < 2 {
		t.Errorf("%d read for a reply in pieces", reads)
	}
}

// readsFor counts the reads that it takes to receive the value of k.
func readsFor(t *testing.T, addr string, length int) (reads int) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET k\r\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2*length)
	for got := 0; got < length; reads++ {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	return reads
}

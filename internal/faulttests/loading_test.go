package faulttests

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis has died and reads a large data set: for most of a second it refuses everything. Who holds the
// lock keeps it, who waits waits on, who comes is told why, and nobody hammers on it.
func TestFault36Loading(t *testing.T) {
	t.Parallel()
	const lease, keys = 6 * time.Second, 600
	redistest.Needs(t, "6.0", "key-load-delay")
	config := []string{
		"key-load-delay 1000", // in µs; only for tests, as the server says itself
		"rdbcompression no",
	}
	size := 100
	if redistest.AtLeast(t, "7.0") {
		config = append(config, "loading-process-events-interval-bytes 1024")
	} else {
		size = 20_000 // it looks up every 2 MB, come what may
	}
	r := newFaultRig(t, redistest.WithAOF(), redistest.WithConfig(config...))
	pipe := r.Admin().Pipeline()
	for i := range keys {
		pipe.Set(t.Context(), fmt.Sprint("ballast:", i), strings.Repeat("x", size), time.Hour)
	}
	_, err := pipe.Exec(t.Context())
	must(t, err)
	// While it reads a snapshot it answers now and then, and what it answers is LOADING.
	r.Do(t, "BGREWRITEAOF")
	redistest.Eventually(t, 10*time.Second, "there is a snapshot", func() bool {
		if r.Info(t, "persistence", "aof_rewrite_in_progress") != "0" {
			return false
		}
		snapshot, _ := r.AOF(t)
		file, err := os.Stat(snapshot)
		return err == nil && file.Size() > int64(keys*size)
	})
	x := newTroubled(t, r, lease)

	sent, since := x.sent(), time.Now()
	up := make(chan struct{})
	go func() {
		defer close(up)
		r.Restart()
	}()
	redistest.Eventually(t, 10*time.Second, "it is loading", func() bool {
		return strings.HasPrefix(bareping(r.Addr()), "-LOADING")
	})
	err = x.waiter.NewLock("another").Lock(owner(t.Context(), "me"))
	if err == nil { // the loading was over before it gave up
		must(t, x.waiter.NewLock("another").Unlock(owner(t.Context(), "me")))
	} else {
		wants(t, err, reentrant.ErrNotAcquired)
		if !strings.Contains(err.Error(), "LOADING") {
			t.Errorf("Lock: %v", err)
		}
	}
	locktest.InTime(t, 20*time.Second, "the server is up", up)
	x.bounded(t, sent, since)
	x.survived(t)
}

// bareping is what a server answers to PING, "" if nothing. go-redis would not do: for a
// second after some connections were refused it does not try to make another.
func bareping(addr string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	answer := make([]byte, 64)
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return ""
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return ""
	}
	n, _ := conn.Read(answer) // of an error nothing was read
	return string(answer[:n])
}

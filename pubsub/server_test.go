package pubsub_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a redis-server of its own for the test and returns its
// address and a client for the test's use.
func startRedis(t *testing.T) (addr string, admin *redis.Client) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("REDLATCH_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)

	cmd := exec.Command(binary, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	admin = redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { admin.Close() })
	eventually(t, "redis-server answers", func() bool { return admin.Ping(t.Context()).Err() == nil })
	return addr, admin
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		if condition() {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not in 20s: %s", what)
		}
	}
}

// pubsubClients counts the connections in subscribed state.
func pubsubClients(t *testing.T, admin *redis.Client) int {
	t.Helper()
	list, err := admin.Do(context.Background(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "\n")
}

func channels(t *testing.T, admin *redis.Client) int {
	t.Helper()
	names, err := admin.PubSubChannels(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

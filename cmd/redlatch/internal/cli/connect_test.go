package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// tour tries each kind of command at a Redis that the flags lead to. The other lock is in another slot.
func tour(r *rig, flags ...string) {
	r.t.Helper()
	with := func(args ...string) []string { return append([]string{args[0]}, append(flags, args[1:]...)...) }
	r.want(7, "ran", "", with("run", "job", "sh", "-c", "echo ran; exit 7")...)
	r.want(0, "inner", "", with(append([]string{"run", "job", binary}, with("run", "job", "echo", "inner")...)...)...)
	_, owner, _ := r.do(with("acquire", "job", "--lease", "1m")...)
	owner = strings.TrimSpace(owner)
	r.want(0, ":", "", with("acquire", "other", "--lease", "1m")...)
	r.want(75, "", "", with("run", "-n", "job", "true")...)
	r.want(0, "job", "", with("ls")...)
	r.want(0, "other", "", with("ls")...)
	r.want(0, "state     held", "", with("inspect", "job")...)
	r.want(0, "", "", with("extend", "job", "--owner", owner, "--lease", "2m")...)
	r.want(0, "", "", with("release", "job", "--owner", owner)...)
	r.want(0, "other was taken from", "", with("force-unlock", "other", "--yes")...)
	r.want(0, "ok  locks", "", with("doctor")...)
}

// waiterSeen has a run wait for a lock until ls --waiting shows it.
func waiterSeen(r *rig, lock string, flags ...string) {
	r.t.Helper()
	must(r.t, r.client.NewLock(lock).Lock(reentrant.WithOwner(r.t.Context(), "holder")))
	c := r.command(append(append([]string{"run"}, flags...), lock, "echo", "ran")...).begin()
	redistest.Eventually(r.t, within, "the waiter is shown", func() bool {
		_, out, _ := r.do(append(append([]string{"ls"}, flags...), "--waiting")...)
		return strings.Contains(out, lock)
	})
	must(r.t, r.client.NewLock(lock).Unlock(reentrant.WithOwner(r.t.Context(), "holder")))
	if code := c.code(); code != 0 || c.out.String() != "ran\n" {
		r.t.Errorf("the waiter: %d, %q, %q", code, c.out.String(), c.err.String())
	}
}

// rigOn is a rig whose own Client goes another way.
func rigOn(t *testing.T, s *redistest.Server, rdb redis.UniversalClient) *rig {
	t.Helper()
	c, err := reentrant.New(rdb)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return &rig{Server: s, t: t, client: c}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	authority := redistest.NewAuthority(t)
	address, secure := authority.WithTLS(t)
	s := redistest.Start(t, secure)
	r := rigOn(t, s, s.Client(t))
	ca, cert, key := authority.ClientFiles(t)
	url := "rediss://" + address
	all := []string{"--url", url, "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key, "--tls-server-name", redistest.TLSName}
	tour(r, all...)
	waiterSeen(r, "awaited", all...)
	tour(r, append([]string{"--url", "redis://" + address}, all[2:]...)...) // the flags mean TLS, too

	own := []string{"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key}
	for _, bad := range []struct {
		code int
		says string
		args []string
	}{
		{69, "--tls-ca says what to trust", []string{"--url", url}},
		{69, "--tls-server-name", append([]string{"--url", url}, own...)},
		{69, "--tls-cert and --tls-key are your own", []string{"--url", url, "--tls-ca", ca, "--tls-server-name", redistest.TLSName}},
		{64, "has no certificate", []string{"--url", url, "--tls-ca", key}},
		{64, "--tls-cert and --tls-key", []string{"--url", url, "--tls-ca", ca, "--tls-cert", cert}},
		{69, "want TLS?", []string{"--url", "redis://" + address}},
		{69, "is Redis at", append([]string{"--timeout", "1s", "--url", "rediss://" + s.Addr()}, own...)}, // it waits for more
		{64, "--url or REDIS_URL", []string{"--url", "http://" + address}},
	} {
		r.want(bad.code, "", bad.says, append([]string{"ls"}, bad.args...)...)
		r.want(bad.code, "", bad.says, append(append([]string{"run", "-w", "1s"}, bad.args...), "job", "true")...)
	}
	r.want(0, "ok  locks", "", "doctor", "--url", url, "--tls-insecure", "--tls-cert", cert, "--tls-key", key)
}

func TestClusterByURL(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	r := rigOn(t, cluster.Nodes[1], cluster.Client(t))
	flags := []string{"--cluster", "--url", "redis://" + cluster.Nodes[0].Addr()}
	tour(r, flags...)
	waiterSeen(r, "awaited", flags...)
	r.want(0, "second", "", "run", "--cluster", "--url", fmt.Sprintf("redis://127.0.0.1:1?addr=%s", cluster.Nodes[2].Addr()), "job", "echo", "second")
	r.want(64, "", "not both", "ls", "--cluster", "--sentinel", "mymaster")
	for _, node := range cluster.Nodes {
		if node != cluster.Owner(t, "job") {
			r.want(64, "", "say --cluster", "run", "-n", "--url", "redis://"+node.Addr(), "job", "true")
		}
	}
}

// A failover while a command runs: the command goes on, and the lock is the run's at the new master.
func TestSentinelByURL(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinel(t)
	r := rigOn(t, group.Master, group.Client(t))
	flags := []string{"--sentinel", group.MasterName, "--url", fmt.Sprintf("redis://%s?addr=%s", group.Addrs[0], group.Addrs[1])}
	tour(r, flags...)
	waiterSeen(r, "awaited", flags...)

	c := r.command(append(append([]string{"run", "--lease", "20s"}, flags...), "job", "sh", "-c", "echo ready; read line; echo $line")...)
	in, err := c.StdinPipe()
	must(t, err)
	c.begin().prints("ready")
	group.Replica.Follows(t, group.Master)
	group.Master.Kill()
	group.AwaitPromotion(t)
	redistest.Eventually(t, within, "the new master has renewed the lock", func() bool {
		left, _ := group.Replica.Do(t, "PTTL", "job").(int64)
		return left > 13_500
	})
	fmt.Fprintln(in, "went on")
	if code := c.code(); code != 0 || !strings.Contains(c.out.String(), "went on") {
		t.Errorf("%d, %q, %q", code, c.out.String(), c.err.String())
	}
	if n := group.Replica.Do(t, "EXISTS", "job"); n != int64(0) {
		t.Error("the lock is still there")
	}
	r.want(69, "", "does it know a master of that name?", "ls", "--sentinel", "unknown", "--url", "redis://"+group.Addrs[0])
	r.want(69, "", "is Redis at", "ls", "--timeout", "1s", "--sentinel", group.MasterName, "--url", "redis://127.0.0.1:1")
	group.Replica.Do(t, "REPLICAOF", "127.0.0.1", "1")
	r.want(69, "", "is a replica", "run", "-n", "--url", "redis://"+group.Replica.Addr(), "job", "true")
}

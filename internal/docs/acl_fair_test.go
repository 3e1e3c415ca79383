package docs

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestFairPermissions uses fair locks as the user of SECURITY.md, whole and with each of what they need beyond other
// locks left out.
func TestFairPermissions(t *testing.T) {
	redistest.Needs(t, "7.0", "users without channels, and ACL LOG with subcommands")
	t.Parallel()
	rules, more := readRules(t, "user", "server", "info", "name"), readRules(t, "fair")
	server := redistest.Start(t)
	logAll(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	untried := []string{"+lpush", "+rpush"} // as SECURITY.md says
	for i, without := range append([]string{""}, more.permissions()...) {
		user := fmt.Sprint("user", i)
		rules.make(t, user, without, server)
		more.make(t, user, without, server)
		a, b := aclClient(t, server.Client(t, login(user))), aclClient(t, server.Client(t, login(user)))
		warnings, err := a.Check(ctx, a.NewFairLock("check"))
		found := len(warnings) > 0 || err != nil
		if found != (without != "" && !slices.Contains(untried, without)) {
			t.Errorf("without %q Check finds %v, %v", without, warnings, err)
		}
		if without != "" {
			continue
		}
		liveFair(t, ctx, server, a.NewFairLock(user), b.NewFairLock(user))
		if words := refusals(t, user, server); len(words) > 0 {
			t.Errorf("Redis refused %v", words)
		}
	}
	for _, command := range more.permissions() {
		if command[0] == '+' && !calledOn(t, command[1:], server) {
			t.Errorf("%s is not used", command)
		}
	}
}

// liveFair has waiters come, go, be dropped and come back.
func liveFair(t *testing.T, ctx context.Context, server *redistest.Server, lock, rival *reentrant.Lock) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	as := func(name string) context.Context { return reentrant.WithOwner(ctx, name) }
	lined := func(n int) {
		t.Helper()
		redistest.Eventually(t, 10*time.Second, fmt.Sprint(n, " wait"), func() bool {
			return server.Do(t, "LLEN", queueOf(lock)) == int64(n)
		})
	}
	must(lock.Lock(as("me")))
	short, leave := context.WithCancel(as("leaves"))
	gone, got := make(chan error, 1), make(chan error, 3)
	go func() { gone <- rival.Lock(short) }()
	lined(1)
	leave()
	<-gone
	lined(0)
	for i := range 3 {
		go func() { got <- rival.Lock(as(fmt.Sprint("waits", i))) }()
		lined(i + 1)
	}
	server.Do(t, "DEL", queueOf(lock), timeoutsOf(lock))
	lined(3) // they come back
	server.Do(t, "LPUSH", queueOf(lock), "6f1c7e0c-5d1f-4d4e-9a55-0123456789ab:dead#1")
	must(lock.Unlock(as("me")))
	for range 3 {
		must(<-got)
		_, err := rival.ForceUnlock(as("me"))
		must(err)
	}
	hold, err := lock.Acquire(as("me"))
	must(err)
	must(hold.ReleaseAfter(as("me"), 100*time.Millisecond))
}

func queueOf(l *reentrant.Lock) string { return "redisson_lock_queue:{lock:" + l.Name() + "}" }

func timeoutsOf(l *reentrant.Lock) string { return "redisson_lock_timeout:{lock:" + l.Name() + "}" }

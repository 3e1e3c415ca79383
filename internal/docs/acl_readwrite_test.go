package docs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestReadWritePermissions uses read-write locks as the user of SECURITY.md, whole and with each of what they need
// beyond other locks left out.
func TestReadWritePermissions(t *testing.T) {
	redistest.Needs(t, "7.0", "users without channels, and ACL LOG with subcommands")
	t.Parallel()
	rules, more := readRules(t, "user", "server", "info", "name"), readRules(t, "readwrite")
	server := redistest.Start(t)
	logAll(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, without := range append([]string{""}, more.permissions()...) {
		user := fmt.Sprint("user", i)
		rules.make(t, user, without, server)
		more.make(t, user, without, server)
		a, b := aclClient(t, server.Client(t, login(user))), aclClient(t, server.Client(t, login(user)))
		rw := a.NewReadWriteLock("lock:" + user)
		warnings, err := a.Check(ctx, a.NewReadWriteLock("lock:").Read())
		found := len(warnings) > 0 || err != nil
		if found != (without != "") {
			t.Errorf("without %q Check finds %v, %v", without, warnings, err)
		}
		if without != "" {
			continue
		}
		liveReadWrite(t, ctx, rw, b.NewReadWriteLock("lock:"+user))
		if words := refusals(t, user, server); len(words) > 0 {
			t.Errorf("Redis refused %v", words)
		}
	}
}

func liveReadWrite(t *testing.T, ctx context.Context, rw, rival *reentrant.ReadWriteLock) {
	t.Helper()
	me, you := reentrant.WithOwner(ctx, "me"), reentrant.WithOwner(ctx, "you")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(rw.Lock(me))
	must(rw.RLock(me))
	must(rw.RLock(me))
	must(rw.RUnlock(me))
	result := make(chan error, 2)
	go func() { result <- rival.RLock(you) }()
	redistest.Eventually(t, 10*time.Second, "a reader is registered", func() bool {
		info, err := rw.Read().Info(me)
		return err == nil && len(info.Waiters) == 1
	})
	must(rw.Unlock(me))
	must(<-result)
	short, cancel := context.WithCancel(reentrant.WithOwner(ctx, "third"))
	go func() { result <- rival.Lock(short) }()
	redistest.Eventually(t, 10*time.Second, "a writer is registered", func() bool {
		info, err := rw.Read().Info(me)
		return err == nil && len(info.Waiters) == 1 && !info.Waiters[0].Reads
	})
	cancel()
	<-result
	must(rival.RUnlock(you))
	if _, err := rw.Read().ForceUnlock(me); err != nil {
		t.Fatal(err)
	}
	hold, err := rival.Write().Acquire(you)
	must(err)
	must(hold.ReleaseAfter(you, 100*time.Millisecond))
}

package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

const javas = "6f1c7e0c-5d1f-4d4e-9a55-0123456789ab:17"

// waiting waits until so many are seen to wait for a lock.
func waiting(t *testing.T, r *rig, name string, n int) {
	t.Helper()
	redistest.Eventually(t, within, fmt.Sprint(n, " wait"), func() bool {
		info, err := r.client.Inspect(t.Context(), name)
		must(t, err)
		return len(info.Waiters) == n
	})
}

// ls, inspect and top tell the same of locks of Go and of Java.
func TestLook(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	must(t, r.client.NewLock("order:1").Lock(ctx))
	must(t, r.client.NewReadWriteLock("prices").Read().Lock(ctx))
	must(t, r.Admin().HSet(ctx, "java", javas, "2").Err())
	must(t, r.Admin().HSet(ctx, "nolock", "name", "x").Err())
	waiter := r.command("run", "order:1", "true").begin()
	waiting(t, r, "order:1", 1)

	type row struct {
		Name, Kind, State, From, Field string
		Count                          int
		Waiters                        []struct{ Who string }
	}
	list := func(args ...string) (rows []row) {
		_, out, _ := r.do(append(args, "--json")...)
		for line := range strings.Lines(out) {
			var one row
			must(t, json.Unmarshal([]byte(line), &one))
			rows = append(rows, one)
		}
		return rows
	}
	rows := list("ls")
	if len(rows) != 3 || rows[0].Name != "java" || rows[0].From != "Java" || rows[0].Count != 2 || rows[0].Field != javas ||
		rows[1].Name != "order:1" || rows[1].From != "Go" || rows[1].Kind != "plain" || len(rows[1].Waiters) != 1 ||
		!strings.HasPrefix(rows[1].Waiters[0].Who, "true@") || rows[2].State != "read" || rows[2].Kind != "read-write" {
		t.Errorf("%+v", rows)
	}
	if rows := list("ls", "--waiting"); len(rows) != 1 || rows[0].Name != "order:1" {
		t.Errorf("--waiting: %+v", rows)
	}
	if rows := list("ls", "ja*"); len(rows) != 1 || rows[0].Name != "java" {
		t.Errorf("a pattern: %+v", rows)
	}
	if rows := list("ls", "--mine"); len(rows) != 0 {
		t.Errorf("--mine: %+v", rows)
	}
	if rows := list("inspect", "order:1"); len(rows) != 1 || rows[0].State != "held" || rows[0].Field != r.client.ID()+":"+strings.TrimPrefix(rows[0].Field, r.client.ID()+":") {
		t.Errorf("inspect: %+v", rows)
	}
	r.want(0, "state     free", "", "inspect", "nothing")
	r.want(0, "(Java, thread 17)", "", "ls")
	r.want(0, "java 2 Java 0\n", "", "ls", "java", "--format", "{{.Name}} {{.Count}} {{.From}} {{.Queue}}")
	r.want(64, "", "--format", "ls", "--format", "{{.Nothing}}")
	r.want(64, "", "--format", "ls", "--format", "{{")
	top := r.command("top", "--every", "10ms").begin()
	top.prints("order:1")
	must(t, top.Process.Signal(syscall.SIGINT))
	if code := top.code(); code != 0 {
		t.Errorf("top: %d, %q", code, top.err.String())
	}
	must(t, r.client.NewLock("order:1").Unlock(ctx))
	waiter.code()
}

func TestWatch(t *testing.T) {
	r := start(t)
	w := r.command("watch", "--every", "10ms", "job").begin()
	w.prints("job  free")
	must(t, r.client.NewLock("job").Lock(t.Context()))
	w.prints("job  held  " + r.client.ID())
	must(t, r.client.NewLock("job").Unlock(t.Context()))
	redistest.Eventually(t, within, "it is free again", func() bool { return strings.Count(w.out.String(), "job  free") == 2 })
	must(t, w.Process.Signal(syscall.SIGTERM))
	if code := w.code(); code != 0 {
		t.Errorf("%d, %q", code, w.err.String())
	}
}

func TestForceUnlock(t *testing.T) {
	r := start(t)
	r.want(1, "job is free", "", "force-unlock", "job", "--yes")
	must(t, r.client.NewLock("job").Lock(t.Context()))
	r.want(64, "", "no terminal to ask", "force-unlock", "job")
	r.want(1, "is held by", "", "force-unlock", "job", "--yes", "--holder", javas)
	_, out, _ := r.do("inspect", "job", "--json")
	var row struct{ Field string }
	must(t, json.Unmarshal([]byte(out), &row))
	r.want(0, "job was taken from", "", "force-unlock", "job", "--yes", "--holder", row.Field)
	r.wantFree("job")
}

// acquire, extend and release are each a process of its own.
func TestSteps(t *testing.T) {
	r := start(t)
	code, out, errs := r.do("acquire", "deploy", "--lease", "1m")
	owner := strings.TrimSpace(out)
	if code != 0 || owner == "" {
		t.Fatalf("%d, %q, %q", code, out, errs)
	}
	r.want(75, "", "is busy", "acquire", "deploy", "-n")
	r.want(79, "", "not held by x", "extend", "deploy", "--owner", "x", "--lease", "1h")
	r.want(0, "", "", "extend", "deploy", "--owner", owner, "--lease", "1h")
	left, err := r.client.NewLock("deploy").TTL(t.Context())
	if must(t, err); left < 50*time.Minute {
		t.Errorf("%v left", left)
	}
	r.want(64, "", "--owner is missing", "release", "deploy")
	r.want(79, "", "not held by x", "release", "deploy", "--owner", "x")
	r.want(0, "", "", "release", "deploy", "--owner", owner)
	r.wantFree("deploy")
	r.want(79, "", "not held by", "release", "deploy", "--owner", owner)
}

func TestDoctor(t *testing.T) {
	r := start(t)
	r.want(0, "ok  locks", "", "doctor")
	r.Do(t, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb")
	r.want(1, "!!  locks", "", "doctor")
	r.want(69, "", "Give another address", "doctor", "--url", "redis://127.0.0.1:1")
}

func TestVersion(t *testing.T) { start(t).want(0, "redlatch version ", "", "--version") }

// A user who may not look is told what is missing.
func TestLookWithoutPermission(t *testing.T) {
	r := start(t)
	r.Do(t, "ACL", "SETUSER", "blind", "on", ">p", "~*", "&*", "+@all", "-scan", "-pubsub|channels")
	url := "redis://blind:p@" + r.Addr()
	r.want(77, "", "ACL SETUSER <user> +scan", "ls", "--url", url)
	r.want(77, "", "+pubsub|channels", "ls", "--waiting", "--url", url)
	r.want(1, "!!  ls", "", "doctor", "--url", url)
}

// Lock names are completed.
func TestCompletion(t *testing.T) {
	r := start(t)
	must(t, r.client.NewLock("order:1").Lock(t.Context()))
	must(t, r.client.NewLock("order:2").Lock(t.Context()))
	_, out, _ := r.do("__complete", "inspect", "ord")
	if !strings.HasPrefix(out, "order:1\norder:2\n") {
		t.Errorf("%q", out)
	}
}

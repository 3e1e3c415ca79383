package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The command's exit code is passed on exactly, and so are its files and arguments.
func TestRun(t *testing.T) {
	r := start(t)
	for _, code := range []int{0, 1, 2, 64, 75, 79, 126, 127, 255} {
		r.want(code, "", "", "run", "job", "sh", "-c", fmt.Sprint("exit ", code))
	}
	r.want(128+15, "", "", "run", "job", "sh", "-c", "kill -TERM $$")
	r.want(128+9, "", "", "run", "job", "--", "sh", "-c", "kill -KILL $$")
	r.want(0, "-v --json -n\n", "", "run", "job", "echo", "-v", "--json", "-n")
	r.want(127, "", "-c: command not found", "run", "job", "-c", "echo a b") // flags end at NAME
	r.want(0, "a b\n", "", "run", "-c", "job", "echo a b")
}

func TestRunInput(t *testing.T) {
	r := start(t)
	c := r.command("run", "job", "cat")
	c.Stdin = strings.NewReader("from stdin")
	if code := c.begin().code(); code != 0 || c.out.String() != "from stdin" {
		t.Errorf("%d, %q, %q", code, c.out.String(), c.err.String())
	}
	r.wantFree("job")
}

func TestRunEnvironment(t *testing.T) {
	r := start(t)
	code, out, _ := r.do("run", "--fence", "-c", "job", "echo $REDLATCH_LOCK; echo $REDLATCH_OWNER; echo $REDLATCH_TOKEN")
	lines := strings.Fields(out)
	if code != 0 || len(lines) != 3 || lines[0] != "job" || !strings.HasSuffix(lines[1], ":run") {
		t.Fatalf("%d, %q", code, out)
	}
	if token, err := strconv.ParseInt(lines[2], 10, 64); err != nil || token <= 0 {
		t.Errorf("token %q", lines[2])
	}
}

// What is wrong with a run says so, and has its code; the command does not run.
func TestRunRefused(t *testing.T) {
	r := start(t)
	const touch = "echo ran"
	r.want(127, "", "command not found", "run", "job", "nosuchcommand")
	file := t.TempDir() + "/text"
	must(t, os.WriteFile(file, []byte("text"), 0o644))
	r.want(126, "", "cannot be executed", "run", "job", file)
	r.want(64, "", "requires at least 2 arg", "run", "job")
	r.want(64, "", "command is missing", "run", "job", "--")
	r.want(64, "", "unknown flag: --nosuch", "run", "--nosuch", "job", touch)
	r.want(64, "", "--on-lost x", "run", "--on-lost", "x", "job", "true")
	r.want(64, "", "invalid name", "run", "a{b", "true")
	r.want(64, "", "invalid lease", "run", "--lease", "0s", "job", "true")
	r.want(69, "", "Give another address with --url", "run", "-n", "--url", "redis://127.0.0.1:1", "job", "true")
	r.want(64, "", "invalid URL scheme", "run", "--url", "http://x", "job", "true")
	r.want(77, "", "WRONGPASS", "run", "-n", "--url", "redis://nobody:secret@"+r.Addr(), "job", "true")
	must(t, r.Admin().Set(t.Context(), "text", "x", 0).Err())
	r.want(70, "", "another lock library", "run", "text", "true")
}

func TestRunBusy(t *testing.T) {
	r := start(t)
	holder := r.command("run", "job", "-c", "echo holds; cat")
	holder.Args = []string{binary, "run", "-c", "job", "echo holds; cat"}
	in, err := holder.StdinPipe()
	must(t, err)
	holder.begin().prints("holds")
	r.want(75, "", "", "run", "-n", "job", "true")
	r.want(75, "", "", "run", "-w", "0", "job", "true")
	r.want(0, "", "", "run", "-n", "-E", "0", "job", "echo", "ran")
	r.want(42, "", "busy", "run", "-v", "-w", "50ms", "-E", "42", "job", "true")
	waiter := r.command("run", "-w", "1m", "job", "echo", "ran").begin()
	must(t, in.Close())
	if code := waiter.code(); code != 0 || waiter.out.String() != "ran\n" {
		t.Errorf("the waiter: %d, %q", code, waiter.err.String())
	}
	if code := holder.code(); code != 0 {
		t.Errorf("the holder: %d", code)
	}
}

// A run inside a run of the same name runs at once, as long as the parent holds the lock.
func TestRunNested(t *testing.T) {
	r := start(t)
	r.want(3, "inner", "", "run", "job", binary, "run", "job", "sh", "-c", "echo inner; exit 3")
	r.want(0, "inner", "", "run", "a b", binary, "run", "other", binary, "run", "-n", "a b", "echo", "inner")
	// The lock is not the parent's any more: the inner run is not let in by the environment alone.
	r.want(75, "", "", "run", "--on-lost", "ignore", "-c", "job",
		binary+" force-unlock job --yes >/dev/null; "+binary+" acquire job >/dev/null; exec "+binary+" run -n job echo inner")
}

// A signal goes to the command, and the lock is freed when that has ended.
func TestRunSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			r := start(t)
			script := fmt.Sprintf("trap 'echo got it; exit 9' %d; echo ready; while :; do sleep 0.01; done", s)
			c := r.command("run", "job", "sh", "-c", script).begin()
			c.prints("ready")
			must(t, c.Process.Signal(s))
			if code := c.code(); code != 9 || !strings.Contains(c.out.String(), "got it") {
				t.Errorf("code %d, %q, %q", code, c.out.String(), c.err.String())
			}
			r.wantFree("job")
		})
	}
}

// A signal ends the wait for the lock.
func TestRunSignalWhileWaiting(t *testing.T) {
	r := start(t)
	must(t, r.client.NewLock("job").Lock(t.Context()))
	c := r.command("run", "job", "echo", "ran").begin()
	waiting(t, r, "job", 1)
	must(t, c.Process.Signal(syscall.SIGTERM))
	if code := c.code(); code != 128+15 || c.out.String() != "" {
		t.Errorf("code %d, %q", code, c.out.String())
	}
	waiting(t, r, "job", 0)
}

// A redlatch that is killed leaves no child, and the lock is free when the lease ends.
func TestRunKilled(t *testing.T) {
	r := start(t)
	c := r.command("run", "--lease", "1s", "job", "sh", "-c", "echo $$; exec sleep 60").begin()
	pid := c.pid()
	must(t, c.Process.Kill())
	gone(t, pid)
	r.want(0, "ran", "", "run", "-w", "20s", "job", "echo", "ran")
}

// pid waits for the number that a run prints first.
func (c *command) pid() int {
	c.t.Helper()
	c.prints("\n")
	pid, err := strconv.Atoi(strings.Fields(c.out.String())[0])
	must(c.t, err)
	return pid
}

// The lock is lost, since it was taken away: the command gets SIGTERM, and SIGKILL after the grace.
func TestRunLost(t *testing.T) {
	for name, c := range map[string]struct {
		flags  []string
		script string
		code   int
		out    string
	}{
		"ends":         {nil, "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done", 79, "asked"},
		"ignores":      {[]string{"--grace", "100ms"}, "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done", 79, "asked"},
		"grace 0":      {[]string{"--grace", "0"}, "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done", 79, ""},
		"kill":         {[]string{"--on-lost", "kill"}, "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done", 79, ""},
		"goes on":      {[]string{"--on-lost", "ignore"}, "echo ready; sleep 2; exit 5", 5, ""},
		"grandchild":   {[]string{"--grace", "100ms"}, "(trap '' TERM; echo ready; sleep 60) ", 79, ""},
		"own end wins": {[]string{"--lease", "1m"}, "echo ready; sleep 0.5; exit 5", 79, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			args := append(append([]string{"run", "--lease", "1s"}, c.flags...), "job", "sh", "-c", c.script)
			run := r.command(args...).begin()
			run.prints("ready")
			r.want(0, "was taken from sh@", "", "force-unlock", "job", "--yes")
			if code := run.code(); code != c.code || c.out != "" && !strings.Contains(run.out.String(), c.out) || c.out == "" && strings.Contains(run.out.String(), "asked") {
				t.Errorf("code %d, %q, %q", code, run.out.String(), run.err.String())
			}
			if code := c.code; code == 79 && !strings.Contains(run.err.String(), `lock "job"`) {
				t.Errorf("it does not say so: %q", run.err.String())
			}
			r.wantFree("job")
		})
	}
}

// Redis is stopped: the command is ended by the end of the lease.
func TestRunRedisStops(t *testing.T) {
	r := start(t)
	c := r.command("run", "--lease", "1s", "job", "sh", "-c", "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done").begin()
	c.prints("ready")
	r.Stop()
	c.prints("asked")
	r.Continue()
	if code := c.code(); code != 79 {
		t.Errorf("code %d, %q", code, c.err.String())
	}
}

// A lock with a fixed lease is lost when that is over.
func TestRunFixed(t *testing.T) {
	r := start(t)
	r.want(79, "", "is lost", "run", "--fixed", "--lease", "300ms", "job", "sleep", "60")
}

func TestRunHoldAtLeast(t *testing.T) {
	r := start(t)
	r.want(0, "ran", "", "run", "--hold-at-least", "1m", "job", "echo", "ran")
	r.want(75, "", "", "run", "-n", "job", "echo", "ran")
	_, out, _ := r.do("ls")
	if !strings.Contains(out, "kept") {
		t.Errorf("%q", out)
	}
	r.want(0, "job was taken from", "", "force-unlock", "job", "--yes")
}

// Within an hour the command succeeds once; one that has failed is tried again.
func TestRunOncePer(t *testing.T) {
	r := start(t)
	r.want(4, "", "", "run", "--once-per", "1h", "job", "sh", "-c", "exit 4")
	r.want(0, "ran", "", "run", "--once-per", "1h", "job", "echo", "ran")
	r.want(0, "", "has succeeded at 20", "run", "-v", "--once-per", "1h", "job", "echo", "ran")
	r.wantFree("job")
}

func TestRunEvents(t *testing.T) {
	r := start(t)
	_, _, lines := r.do("run", "--json", "job", "true")
	var events []string
	for line := range strings.Lines(lines) {
		var e struct{ Event, Lock string }
		must(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e.Lock+" "+e.Event)
	}
	if got := strings.Join(events, ", "); got != "job acquired, job ended" {
		t.Errorf("%s", got)
	}
	read, write, err := os.Pipe()
	must(t, err)
	c := r.command("run", "--events-fd", "3", "job", "true")
	c.ExtraFiles = []*os.File{write}
	c.begin()
	c.code()
	must(t, write.Close())
	line := make([]byte, 1000)
	must(t, read.SetReadDeadline(time.Now().Add(within)))
	if n, err := read.Read(line); err != nil || !strings.Contains(string(line[:n]), `"event":"acquired"`) {
		t.Errorf("%q, %v", line[:n], err)
	}
	r.want(64, "", "--events-fd 99", "run", "--events-fd", "99", "job", "true")
}

// More than half of the servers have to grant the lock. Here one of three is down.
func TestRunQuorum(t *testing.T) {
	r := start(t)
	second, third := redistest.Start(t), redistest.Start(t)
	third.Kill()
	urls := func(args ...string) []string {
		return append([]string{args[0], "--url", "redis://" + r.Addr(), "--url", "redis://" + second.Addr(), "--url", "redis://" + third.Addr()}, args[1:]...)
	}
	r.want(0, "inner", "", urls("run", "--lease", "1s", "-w", "20s", "job", binary, "run", "-n", "--url", "redis://"+second.Addr(), "job", "echo", "inner")...)
	second.Kill()
	if code, out, _ := r.do(urls("run", "-n", "job", "echo", "ran")...); code == 0 || out != "" {
		t.Errorf("two of three are down: %d, %q", code, out)
	}
	r.want(64, "", "--fence", urls("run", "--fence", "job", "true")...)
	r.want(64, "", "only run takes a lock on several", urls("ls")...)
}

//go:build interop

package redisson_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// jar is the Java program; Maven puts the jars it needs beside it.
const jar = "target/peer.jar"

const (
	startWithin  = 60 * time.Second // a JVM on a machine that is busy
	answerWithin = 30 * time.Second // any command, unless the test waits for less
)

// peer is a JVM with one RedissonClient in it, a child of the test. Its methods may
// be called from any goroutine.
type peer struct {
	id string // the client's UUID: the first half of its owners' fields

	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan struct{} // closed when it has exited

	mu      sync.Mutex
	last    int                    // guarded by mu; the number of the last command
	pending map[string]chan answer // guarded by mu; by the number of the command
	errors  bytes.Buffer           // guarded by mu; what it wrote to standard error
}

// answer is what came of a command. An exception of Redisson's is err.
type answer struct {
	value string
	at    time.Time
	err   error
}

// startPeer runs the program on one server, or several separated by commas.
func startPeer(t testing.TB, addr string, options ...string) *peer {
	t.Helper()
	return launch(t, append([]string{"--redis", addr}, options...)...)
}

// launch runs the program until the test ends. It fails the test, and does not
// skip it, when there is nothing to run: these tests are there to be run.
func launch(t testing.TB, options ...string) *peer {
	t.Helper()
	if _, err := os.Stat(jar); err != nil {
		t.Fatalf("%v: the Java program is not built; use make interop", err)
	}
	p := &peer{ended: make(chan struct{}), pending: make(map[string]chan answer)}
	// Not tuned but for the start of a program that lives for a minute.
	args := append([]string{"-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar", jar}, options...)
	p.cmd = exec.Command("java", args...)
	p.cmd.Stderr = (*complaints)(p)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%v: these tests need a Java 17", err)
	}
	t.Cleanup(func() { p.stop(t) })
	ready := make(chan string, 1)
	go p.read(out, ready)
	select {
	case p.id = <-ready:
	case <-p.ended:
		t.Fatalf("the Java program ended at once:\n%s", p.complaints())
	case <-time.After(startWithin):
		t.Fatalf("the Java program is not ready after %v:\n%s", startWithin, p.complaints())
	}
	return p
}

// read hands the answers to those who wait for them, until the program ends.
func (p *peer) read(out io.Reader, ready chan<- string) {
	lines := bufio.NewReader(out) // a Scanner would limit the length of a line
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		now := time.Now()
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		verdict, value, _ := strings.Cut(rest, " ")
		if number == "READY" {
			ready <- rest
			continue
		}
		a := answer{value: value, at: now}
		if verdict != "ok" {
			a = answer{at: now, err: errors.New(value)}
		}
		p.mu.Lock()
		if waiting := p.pending[number]; waiting != nil {
			waiting <- a
			delete(p.pending, number)
		}
		p.mu.Unlock()
	}
	p.cmd.Wait() // after the last read, as StdoutPipe demands
	p.mu.Lock()
	for _, waiting := range p.pending {
		waiting <- answer{at: time.Now(), err: errors.New("the Java program has ended")}
	}
	p.pending = nil
	p.mu.Unlock()
	close(p.ended)
}

// stop ends the program by the end of its input, and if that does not do, by force.
func (p *peer) stop(t testing.TB) {
	p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		t.Errorf("the Java program does not end:\n%s", p.complaints())
		p.kill()
	}
	if t.Failed() && p.complaints() != "" {
		t.Logf("the Java program said:\n%s", p.complaints())
	}
}

// kill ends the program as a crash would and waits until it is gone.
func (p *peer) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// begin sends a command, words separated by blanks, and returns where its answer
// will be.
func (p *peer) begin(t testing.TB, words ...any) <-chan answer {
	t.Helper()
	a := make(chan answer, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		t.Fatalf("%v: the Java program has ended", words)
	}
	p.last++
	number := strconv.Itoa(p.last)
	p.pending[number] = a
	if _, err := fmt.Fprintln(p.in, append([]any{number}, words...)...); err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	return a
}

// try sends a command and waits for what comes of it.
func (p *peer) try(t testing.TB, words ...any) (string, error) {
	t.Helper()
	a := await(t, p.begin(t, words...), answerWithin)
	return a.value, a.err
}

// do is try for a command that must not fail.
func (p *peer) do(t testing.TB, words ...any) string {
	t.Helper()
	value, err := p.try(t, words...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, p.complaints())
	}
	return value
}

// want is do for a command whose result is known.
func (p *peer) want(t testing.TB, want any, words ...any) {
	t.Helper()
	if got := p.do(t, words...); got != fmt.Sprint(want) {
		t.Errorf("%v: Redisson says %s, want %v", words, got, want)
	}
}

// wantNotOwner expects the exception of an unlock by somebody else.
func (p *peer) wantNotOwner(t testing.TB, words ...any) {
	t.Helper()
	if value, err := p.try(t, words...); err == nil || !strings.Contains(err.Error(), "IllegalMonitorStateException") {
		t.Errorf("%v: Redisson says %s, %v, want an IllegalMonitorStateException", words, value, err)
	}
}

// millis is do for a command that answers milliseconds.
func (p *peer) millis(t testing.TB, words ...any) time.Duration {
	t.Helper()
	return time.Duration(number(t, p.do(t, words...))) * time.Millisecond
}

// field is the field in the lock's hash of one of its owners.
func (p *peer) field(owner int) string { return fmt.Sprintf("%s:%d", p.id, owner) }

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits for an answer, or for anything else that comes through a channel.
func await[T any](t testing.TB, from <-chan T, within time.Duration) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatalf("no answer within %v", within)
		panic("unreachable")
	}
}

// complaints takes what the program writes to standard error.
type complaints peer

func (c *complaints) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errors.Write(b)
}

func (p *peer) complaints() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errors.String()
}

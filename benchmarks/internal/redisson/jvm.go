// Package redisson measures Redisson itself, by the Java program of
// examples/redisson: threads in one or several JVMs.
package redisson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// jvm is a Java program with one RedissonClient, a child of this process. It ends
// with its input.
type jvm struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer // to be read when the program has ended
	ended  chan struct{}

	mu      sync.Mutex
	last    int                    // guarded by mu; the number of the last command
	pending map[string]chan answer // guarded by mu; nil when the program has ended
}

type answer struct {
	value string
	err   error
}

const startWithin = 2 * time.Minute // twenty at once on a small machine

// Available is an error that says what is missing, if something is.
func Available(jar string) error {
	if _, err := exec.LookPath("java"); err != nil {
		return errors.New("there is no JVM (java) in PATH")
	}
	if _, err := os.Stat(jar); err != nil {
		return fmt.Errorf("%w: build it with mvn -q -B package in examples/redisson", err)
	}
	return nil
}

func startJVM(jar, addr string) (*jvm, error) {
	j := &jvm{ended: make(chan struct{}), pending: make(map[string]chan answer)}
	j.cmd = exec.Command("java", "-Xmx256m", "-jar", jar, "--redis", addr)
	j.cmd.Stderr = &j.stderr
	in, err := j.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	j.in = in
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go j.read(out, ready)
	select {
	case <-ready:
		return j, nil
	case <-j.ended:
		return nil, fmt.Errorf("the Java program ended at once:\n%s", j.stderr.String())
	case <-time.After(startWithin):
		j.stop()
		return nil, fmt.Errorf("the Java program is not ready after %v", startWithin)
	}
}

// read hands the answers to those who wait for them, until the program ends.
func (j *jvm) read(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(out) // answers may be longer than a Scanner takes
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if number == "READY" {
			close(ready)
			continue
		}
		verdict, value, _ := strings.Cut(rest, " ")
		a := answer{value: value}
		if verdict != "ok" {
			a = answer{err: errors.New(value)}
		}
		j.mu.Lock()
		waiting := j.pending[number]
		delete(j.pending, number)
		j.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
	_ = j.cmd.Wait() // after the last read, as StdoutPipe demands
	close(j.ended)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, waiting := range j.pending {
		waiting <- answer{err: errors.New("the Java program has ended")}
	}
	j.pending = nil
}

// begin sends a command and returns where its answer will be.
func (j *jvm) begin(words ...any) (<-chan answer, error) {
	a := make(chan answer, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pending == nil {
		return nil, errors.New("the Java program has ended")
	}
	j.last++
	number := strconv.Itoa(j.last)
	j.pending[number] = a
	_, err := fmt.Fprintln(j.in, append([]any{number}, words...)...)
	return a, err
}

// stop ends the program by the end of its input, and if that does not do, by force.
func (j *jvm) stop() {
	j.in.Close()
	select {
	case <-j.ended:
	case <-time.After(10 * time.Second):
		_ = j.cmd.Process.Kill() // fails only if it has ended
		<-j.ended
	}
}

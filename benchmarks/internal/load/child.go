//go:build unix

package load

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// childVariable tells the program that it is one of the processes. The Spec and the
// Window come on standard input, a line each.
const childVariable = "REDLATCH_BENCHMARKS_CHILD"

const readyLine = "ready\n"

// Child does not return in a process that [Start] has started. It belongs at the
// beginning of main.
func Child() {
	if os.Getenv(childVariable) == "" {
		return
	}
	if err := child(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var spec Spec
	if err := readLine(in, &spec); err != nil {
		return err
	}
	begun := make(chan struct{})
	go func() { // before anybody counts the goroutines
		<-begun
		io.Copy(io.Discard, in) // ends with the process that started this one
		os.Exit(1)
	}()
	run, err := prepare(spec)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, readyLine); err != nil {
		return err
	}
	var win Window
	if err := readLine(in, &win); err != nil {
		return err
	}
	close(begun)
	rec, err := run(win)
	// The recording goes out even so: two holders say more than the error they led to.
	err = errors.Join(err, gob.NewEncoder(stdout).Encode(rec))
	if spec.Stay && err == nil {
		select {} // until it is killed, or its input ends
	}
	return err
}

// work is what a process does when it is given the window.
type work interface {
	run(Window) (Recording, error)
}

func prepare(spec Spec) (run func(Window) (Recording, error), err error) {
	var w work
	switch spec.Kind {
	case Held:
		w, err = openKeeper(spec)
	case Crowd:
		w, err = openCrowd(spec)
	case Churn:
		w, err = openChurn(spec)
	default:
		w, err = open(spec)
	}
	if err != nil {
		return nil, err
	}
	return w.run, nil
}

func readLine(in *bufio.Reader, v any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("load: input ended: %w", err)
	}
	return json.Unmarshal(line, v)
}

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

// childVariable tells the program that it is one of the processes. The Spec and each
// Window come on standard input, a line each; a Recording goes out for each Window.
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
	windows := make(chan Window)
	go readWindows(in, windows) // before anybody counts the goroutines
	w, err := prepare(spec)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, readyLine); err != nil {
		return err
	}
	out := gob.NewEncoder(stdout)
	for win := range windows {
		rec, err := w.run(win)
		if err != nil {
			rec.Failure = err.Error()
		}
		if err := out.Encode(rec); err != nil {
			return err
		}
	}
	return nil // not reached: the process ends with its input
}

// readWindows ends the process with its input, also in the middle of a window: the
// process that started this one has died, or wants nothing more.
func readWindows(in *bufio.Reader, windows chan<- Window) {
	for {
		var win Window
		if err := readLine(in, &win); err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
		windows <- win
	}
}

// work is what a process does when it is given a window. A crowd and a churn are
// given one, the others as many as come.
type work interface {
	run(Window) (Recording, error)
}

func prepare(spec Spec) (work, error) {
	switch spec.Kind {
	case Held:
		return openKeeper(spec)
	case Crowd:
		return openCrowd(spec)
	case Churn:
		return openChurn(spec)
	}
	return open(spec)
}

func readLine(in *bufio.Reader, v any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("load: input ended: %w", err)
	}
	return json.Unmarshal(line, v)
}

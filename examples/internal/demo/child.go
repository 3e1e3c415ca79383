package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9/logging"
)

// roleVariable tells a program that it is a child, and which.
const roleVariable = "REDLATCH_EXAMPLE_ROLE"

// Parent is the process that started this one.
type Parent struct{ *mailbox }

// Role is what a child process does. Its ctx ends with the parent, or when that wants it
// to end.
type Role func(ctx context.Context, parent *Parent) error

var errParent = errors.New("the parent has closed the pipe")

// Child does not return in a process that [Start] has started: it plays its role and
// exits. It belongs at the beginning of main, and of TestMain.
func Child(roles map[string]Role) {
	name := os.Getenv(roleVariable)
	if name == "" {
		return
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", name)
		os.Exit(1)
	}
	signal.Ignore(os.Interrupt) // Ctrl-C goes to both; the parent says when to end
	logging.Disable()
	parent := &Parent{newMailbox(os.Stdout, os.Stdin)}
	ctx, cancel := context.WithCancelCause(context.Background())
	go parent.deliver(func() { cancel(errParent) })
	// What fails once the parent wants the end fails because of it.
	if err := role(ctx, parent); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redlatch/redlatch/internal/child"
)

// Kind is the server that a peer's locks are in, with its setting. The zero Kind is Redis,
// which [Start] runs.
type Kind struct {
	Program Program
	NoFsync bool // it does not wait for the disk; what it has confirmed may be lost with the machine
}

// Program is the server of a Kind.
type Program string

const (
	Etcd     Program = "etcd"
	Postgres Program = "PostgreSQL"
)

// Redis reports whether it is Redis.
func (k Kind) Redis() bool { return k.Program == "" }

// Available is an error that says what is missing, if something is.
func (k Kind) Available() (err error) {
	switch k.Program {
	case Etcd:
		_, err = exec.LookPath("etcd")
	case Postgres:
		_, err = findPostgres()
	}
	if err != nil {
		return fmt.Errorf("%w: make bench installs %s", err, k.Program)
	}
	return nil
}

// Version is that of the installed program.
func (k Kind) Version() string {
	switch k.Program {
	case Etcd:
		return etcdVersion()
	case Postgres:
		return postgresVersion()
	}
	return ""
}

// Other is a server that is not Redis: a process of its own on loopback, with its data
// in a temporary directory. It has nothing to do with the one that a package may run.
type Other struct {
	Addr    string
	kind    Kind
	dir     string
	cmd     *exec.Cmd
	process *child.Child // cmd's; nil before it is started
}

// StartOther runs a server until Stop. Like [Start] it tries another port when the
// server exits.
func StartOther(ctx context.Context, k Kind) (o *Other, err error) {
	if err := k.Available(); err != nil {
		return nil, err
	}
	for range 5 {
		if o, err = startOther(ctx, k); err == nil || ctx.Err() != nil {
			return o, err
		}
	}
	return nil, err
}

func startOther(ctx context.Context, k Kind) (_ *Other, err error) {
	o := &Other{kind: k}
	if o.Addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if o.dir, err = os.MkdirTemp("", "redlatch-benchmarks-"); err != nil {
		return nil, err
	}
	if err := o.run(ctx); err != nil {
		log, _ := os.ReadFile(o.log())
		o.Stop()
		return nil, fmt.Errorf("%s: %w\n%s", k.Program, err, log)
	}
	return o, nil
}

func (o *Other) log() string { return filepath.Join(o.dir, "log") }

// run returns when the server answers.
func (o *Other) run(ctx context.Context) error {
	command, answers := o.etcd, o.etcdAnswers
	if o.kind.Program == Postgres {
		command, answers = o.postgres, o.postgresAnswers
	}
	log, err := os.Create(o.log())
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own
	cmd, err := command()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	o.cmd = cmd
	if o.process, err = child.Start(cmd); err != nil {
		return err
	}
	return o.await(ctx, answers)
}

// answerWithin is how long one try may take.
const answerWithin = time.Second

// await asks until it is our child that answers.
func (o *Other) await(ctx context.Context, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, answerWithin)
		err := answers(try)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-o.process.Done():
			return errors.New("it has exited")
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server and removes its files.
func (o *Other) Stop() {
	if o.process != nil {
		if o.kind.Program == Postgres {
			o.quitPostgres()
		}
		o.process.Kill()
	}
	os.RemoveAll(o.dir)
}

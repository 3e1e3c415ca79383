package lua

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Launcher takes a command along with those of other goroutines. So the caller can wait for the outcome, and
// leave, without a goroutine of its own for the command.
type Launcher interface {
	// Launch reports false, and has done nothing, if the command would go alone. Otherwise done is closed
	// when the command has its outcome.
	Launch(ctx context.Context, cmd redis.Cmder) (done <-chan struct{}, launched bool)
	// Landed notes the outcome of a launched command.
	Landed(cmd redis.Cmder)
}

// Flight is a command that was launched. Its result may be read, once, when Done is closed.
type Flight struct {
	Done <-chan struct{}

	by  Launcher
	cmd onceOnly // not a pointer: each of these is one allocation
}

func launch(ctx context.Context, by Launcher, line []any) *Flight {
	f := &Flight{by: by, cmd: onceOnly{Cmd: command(ctx, line)}}
	done, launched := by.Launch(ctx, &f.cmd)
	if !launched {
		return nil
	}
	f.Done = done
	return f
}

// Acquired is the result of an [Acquire], and Freed the one of a [Release].
func (f *Flight) Acquired() (Granted, error) { return acquired(f.land()) }

func (f *Flight) Freed(r *Release) (v Verdict, epochSet bool, err error) { return r.freed(f.land()) }

func (f *Flight) land() ([]any, error) {
	f.by.Landed(&f.cmd)
	return reply(f.cmd.Cmd)
}

// NotRun reports whether the server did not know the script. Then the command has not run, and its Run
// sends the script too.
func NotRun(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }

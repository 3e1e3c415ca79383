package lua

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Pipelined is a [Processor] that sends several commands in one round trip too, as the clients and
// connections of go-redis for one server do.
type Pipelined interface {
	Processor
	Pipeline() redis.Pipeliner
}

// invocation is one of several runs of scripts.
type invocation struct {
	script *script
	keys   []string
	args   []any
	of     int        // how many things it is about
	cmd    *redis.Cmd // the last command that was sent for it
}

// Pipelines reports whether several scripts go to p in one round trip.
func Pipelines(p Processor) bool {
	_, ok := p.(Pipelined)
	return ok
}

// runAll runs scripts as run does, in one pipeline if p can send one.
func runAll(ctx context.Context, p Processor, all []*invocation) {
	sendAll(ctx, p, false, all)
	var unknown []*invocation
	for _, v := range all {
		if NotRun(v.cmd.Err()) {
			unknown = append(unknown, v)
		}
	}
	sendAll(ctx, p, true, unknown)
}

// sendAll sends each script, in one pipeline if p can send one.
func sendAll(ctx context.Context, p Processor, whole bool, all []*invocation) {
	cmds := make([]redis.Cmder, len(all))
	for i, v := range all {
		line := append(v.script.line(len(v.args), v.keys...), v.args...)
		if whole {
			line[0], line[1] = "eval", v.script.source
		}
		v.cmd = command(ctx, line)
		cmds[i] = &onceOnly{Cmd: v.cmd}
	}
	together, ok := p.(Pipelined)
	if !ok || len(all) < 2 {
		for _, cmd := range cmds {
			_ = p.Process(ctx, cmd) // the error is in the command too
		}
		return
	}
	pipe := together.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...) // gathers them, and cannot fail
	_, _ = pipe.Exec(ctx)
}

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

// invocation is one of several runs of a script.
type invocation struct {
	keys []string
	args []any
	cmd  *redis.Cmd // the last command that was sent for it
}

// Pipelines reports whether several scripts go to p in one round trip.
func Pipelines(p Processor) bool {
	_, ok := p.(Pipelined)
	return ok
}

// runAll runs the script several times as run does, in one pipeline if p can send one.
func (s *script) runAll(ctx context.Context, p Processor, all []*invocation) {
	s.sendAll(ctx, p, "evalsha", s.sha, all)
	var unknown []*invocation
	for _, v := range all {
		if NotRun(v.cmd.Err()) {
			unknown = append(unknown, v)
		}
	}
	s.sendAll(ctx, p, "eval", s.source, unknown)
}

// sendAll sends the script once for each invocation, in one pipeline if p can send one.
func (s *script) sendAll(ctx context.Context, p Processor, name string, body any, all []*invocation) {
	cmds := make([]redis.Cmder, len(all))
	for i, v := range all {
		line := append(s.line(len(v.args), v.keys...), v.args...)
		line[0], line[1] = name, body
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

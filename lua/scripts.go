package lua

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed wake.lua
	wakeFunction string
	//go:embed redisson.lua
	redissonFunction string
	//go:embed raise.lua
	raiseFunction string

	//go:embed acquire.lua
	acquireSource string
	//go:embed count.lua
	countSource string
	//go:embed release.lua
	releaseSource string
	//go:embed transfer.lua
	transferSource string
	//go:embed renew.lua
	renewSource string
	//go:embed leave.lua
	leaveSource string
	//go:embed force.lua
	forceSource string
	//go:embed linger.lua
	lingerSource string
	//go:embed report.lua
	reportSource string
	//go:embed inspect.lua
	inspectSource string
)

var (
	acquireScript  = newScript(raiseFunction, acquireSource)
	countScript    = newScript(countSource)
	releaseScript  = newScript(redissonFunction, wakeFunction, releaseSource)
	transferScript = newScript(raiseFunction, redissonFunction, transferSource)
	renewScript    = newScript(renewSource)
	leaveScript    = newScript(redissonFunction, wakeFunction, leaveSource)
	forceScript    = newScript(redissonFunction, wakeFunction, forceSource)
	lingerScript   = newScript(redissonFunction, lingerSource)
	reportScript   = newScript(redissonFunction, reportSource)
	inspectScript  = newScript(inspectSource)
)

// Processor sends one command; every go-redis client is one.
type Processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

type script struct {
	source, sha string
}

func newScript(parts ...string) *script {
	s := &script{}
	for _, part := range parts {
		s.source += part + "\n"
	}
	sum := sha1.Sum([]byte(s.source))
	s.sha = hex.EncodeToString(sum[:])
	return s
}

// run sends EVALSHA, and EVAL when the server does not know the script: NOSCRIPT
// is the one error after which sending again is certain to be the first run.
func (s *script) run(ctx context.Context, p Processor, keys []string, args ...any) ([]any, error) {
	cmd := s.send(ctx, p, "evalsha", s.sha, keys, args)
	if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = s.send(ctx, p, "eval", s.source, keys, args)
	}
	return reply(cmd)
}

func reply(cmd *redis.Cmd) ([]any, error) {
	if n, ok := cmd.Val().(int64); ok && cmd.Err() == nil {
		return []any{n}, nil // a number costs Redis less than a table of one
	}
	return cmd.Slice()
}

func (s *script) send(ctx context.Context, p Processor, name, body string, keys []string, args []any) *redis.Cmd {
	cmd := command(ctx, name, body, keys, args)
	// The error is in the command too.
	_ = p.Process(ctx, &onceOnly{Cmd: cmd})
	return cmd
}

func command(ctx context.Context, name, body string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, name, body, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(line, args...)
	cmd := redis.NewCmd(ctx, line...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// onceOnly keeps go-redis from resending a command whose reply was lost, and from
// forgetting that there was a reply: the error that ends a pipeline is given to every
// command in it that has none of its own, those that were answered before included.
type onceOnly struct {
	*redis.Cmd
	answered bool
}

// NoRetry implements [redis.Cmder].
func (*onceOnly) NoRetry() bool { return true }

// SetErr implements [redis.Cmder]. go-redis calls it with nil for a good reply.
func (c *onceOnly) SetErr(err error) {
	if c.answered {
		return
	}
	c.answered = err == nil
	c.Cmd.SetErr(err)
}

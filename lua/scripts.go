package lua

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"slices"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed wake.lua
	wakeFunction string
	//go:embed grant.lua
	grantFunction string
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
	//go:embed released.lua
	releasedSource string
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

	//go:embed rw.lua
	rwFunction string
	//go:embed read_acquire.lua
	readAcquireSource string
	//go:embed write_acquire.lua
	writeAcquireSource string
	//go:embed read_count.lua
	readCountSource string
	//go:embed read_renew.lua
	readRenewSource string
	//go:embed rw_release.lua
	rwReleaseSource string
	//go:embed rw_linger.lua
	rwLingerSource string
	//go:embed rw_leave.lua
	rwLeaveSource string
	//go:embed rw_force.lua
	rwForceSource string
	//go:embed rw_inspect.lua
	rwInspectSource string
	//go:embed rw_report.lua
	rwReportSource string

	//go:embed fair.lua
	fairFunction string
	//go:embed fair_acquire.lua
	fairAcquireSource string
	//go:embed fair_pass.lua
	fairPassSource string
	//go:embed fair_line.lua
	fairLineSource string
	//go:embed fair_leave.lua
	fairLeaveSource string
	//go:embed fair_force.lua
	fairForceSource string
	//go:embed fair_linger.lua
	fairLingerSource string
	//go:embed fair_report.lua
	fairReportSource string
)

var (
	acquireScript  = newScript(raiseFunction, acquireSource)
	countScript    = newScript(countSource)
	releaseScript  = newScript(releaseSource, raiseFunction, redissonFunction, grantFunction, wakeFunction, releasedSource)
	transferScript = newScript(raiseFunction, redissonFunction, transferSource)
	renewScript    = newScript(renewSource)
	leaveScript    = newScript(raiseFunction, redissonFunction, grantFunction, wakeFunction, leaveSource)
	forceScript    = newScript(raiseFunction, redissonFunction, grantFunction, wakeFunction, forceSource)
	lingerScript   = newScript(redissonFunction, lingerSource)
	reportScript   = newScript(redissonFunction, reportSource)
	inspectScript  = newScript(inspectSource)

	readAcquireScript  = newScript(redissonFunction, rwFunction, readAcquireSource)
	writeAcquireScript = newScript(raiseFunction, redissonFunction, rwFunction, writeAcquireSource)
	readCountScript    = newScript(readCountSource)
	readRenewScript    = newScript(readRenewSource)
	rwReleaseScript    = newScript(redissonFunction, rwFunction, rwReleaseSource)
	rwLingerScript     = newScript(redissonFunction, rwFunction, rwLingerSource)
	rwLeaveScript      = newScript(redissonFunction, rwFunction, rwLeaveSource)
	rwForceScript      = newScript(redissonFunction, rwFunction, rwForceSource)
	rwInspectScript    = newScript(redissonFunction, rwFunction, rwInspectSource)
	rwReportScript     = newScript(redissonFunction, rwFunction, rwReportSource)

	fairAcquireScript = newScript(raiseFunction, redissonFunction, fairFunction, fairAcquireSource)
	fairPassScript    = newScript(raiseFunction, redissonFunction, fairFunction, fairPassSource)
	fairLineScript    = newScript(redissonFunction, fairFunction, fairLineSource)
	fairLeaveScript   = newScript(redissonFunction, fairFunction, fairLeaveSource)
	fairForceScript   = newScript(redissonFunction, fairFunction, fairForceSource)
	fairLingerScript  = newScript(redissonFunction, fairFunction, fairLingerSource)
	fairReportScript  = newScript(fairReportSource)
)

// Processor sends one command; every go-redis client is one.
type Processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

type script struct {
	source string
	sha    any // the SHA1 as an argument: each command would allocate it anew
}

// all are the scripts of the package. Only the initialization of its variables adds to them.
var all []*script

func newScript(parts ...string) *script {
	s := &script{}
	for _, part := range parts {
		s.source += part + "\n"
	}
	sum := sha1.Sum([]byte(s.source))
	s.sha = hex.EncodeToString(sum[:])
	all = append(all, s)
	return s
}

// run sends EVALSHA, and EVAL when the server does not know the script. NOSCRIPT is the one error
// after which sending again is certain to be the first run.
func (s *script) run(ctx context.Context, p Processor, keys []string, args ...any) ([]any, error) {
	return s.runLine(ctx, p, append(s.line(len(args), keys...), args...))
}

// runLine is run for a line that [script.line] has begun.
func (s *script) runLine(ctx context.Context, p Processor, line []any) ([]any, error) {
	cmd := send(ctx, p, line)
	if NotRun(cmd.Err()) {
		line = slices.Clone(line) // hooks of go-redis may have kept the first
		line[0], line[1] = "eval", s.source
		cmd = send(ctx, p, line)
	}
	return reply(cmd)
}

// line begins the command that runs the script: what follows are as many arguments. Commands that locks live by
// have a function of their own that makes their line, apart from what sends it. With WithHandoff's default a goroutine
// that waits for a lock also sends its release: if all that were on its stack at once, the stack would grow beyond 8 kB,
// be halved at the next garbage collection and copied again.
func (s *script) line(args int, keys ...string) []any {
	line := make([]any, 0, 3+len(keys)+args)
	line = append(line, "evalsha", s.sha, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	return line
}

var one = []any{int64(1)} // most replies; never changed

func reply(cmd *redis.Cmd) ([]any, error) {
	if n, ok := cmd.Val().(int64); ok && cmd.Err() == nil { // a number costs Redis less than a table of one
		if n == 1 {
			return one, nil
		}
		return []any{n}, nil
	}
	return cmd.Slice()
}

func send(ctx context.Context, p Processor, line []any) *redis.Cmd {
	cmd := command(ctx, line)
	// The error is in the command too.
	_ = p.Process(ctx, &onceOnly{Cmd: cmd})
	return cmd
}

// command makes an EVALSHA or EVAL. SetFirstKeyPos tells a cluster client where the first key is.
func command(ctx context.Context, line []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, line...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// onceOnly keeps go-redis from two mistakes. It would resend a command whose reply was lost. And it
// would forget a reply: the error that ends a pipeline is given to every command in it that has no
// error of its own, even to a command that was answered before.
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

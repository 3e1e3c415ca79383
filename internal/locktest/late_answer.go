package locktest

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// LateAnswer is a hook that keeps the answer to a script from its caller until Released is closed.
type LateAnswer struct {
	Script   string
	Released chan struct{}
}

// DialHook changes nothing.
func (LateAnswer) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing.
func (LateAnswer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook keeps the answer.
func (a LateAnswer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var args []string
		for _, arg := range cmd.Args() {
			args = append(args, fmt.Sprint(arg))
		}
		if err == nil && ScriptOf(args) == a.Script {
			<-a.Released
		}
		return err
	}
}

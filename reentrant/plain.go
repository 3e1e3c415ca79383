package reentrant

import (
	"context"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// plain is the reentrant lock of [Client.NewLock]: Redisson's RLock. It is a hash that maps the owner to
// its hold count. One owner at a time has it.
var plain = &kind{name: "plain", number: 0, protocol: plainLock{}}

type plainLock struct{}

func (plainLock) keys(key, client string) lua.Keys { return lua.KeysOf(key, client) }

func (plainLock) ownChannel(k *lua.Keys) string { return k.Own() }

func (plainLock) commonChannel(k *lua.Keys) (common, listeners string) {
	return k.Channel(), k.Listeners()
}

func (plainLock) acquire(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Acquire) (lua.Granted, error) {
	return command.Run(ctx, p, k)
}

func (plainLock) count(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Count) (lua.Verdict, error) {
	g, err := command.Run(ctx, p, k)
	return g.Verdict, err
}

func (plainLock) transfer(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Transfer) (lua.Granted, error) {
	return command.Run(ctx, p, k)
}

func (plainLock) release(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Release) (lua.Verdict, bool, error) {
	return command.Run(ctx, p, k)
}

func (plainLock) linger(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Linger) (lua.Verdict, bool, error) {
	return command.Run(ctx, p, k)
}

func (plainLock) launchAcquire(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Acquire) *lua.Flight {
	return command.Launch(ctx, by, k)
}

func (plainLock) launchRelease(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Release) *lua.Flight {
	return command.Launch(ctx, by, k)
}

func (plainLock) leave(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Leave) (lua.Verdict, error) {
	return command.Run(ctx, p, k)
}

func (plainLock) force(ctx context.Context, p lua.Processor, k *lua.Keys, _ lockstate.Mode, holder string, wake lua.Wake) (bool, error) {
	return lua.Force(ctx, p, k, wake, holder)
}

func (plainLock) inspect(ctx context.Context, p lua.Processor, k *lua.Keys, owner string) (lua.Inspection, error) {
	return lua.Inspect(ctx, p, k, owner)
}

func (plainLock) report(ctx context.Context, p lua.Processor, k *lua.Keys, wake lua.Wake, fencing bool) (lua.Report, error) {
	return lua.ReadReport(ctx, p, k, wake, fencing)
}

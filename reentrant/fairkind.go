package reentrant

import (
	"context"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// fair is the lock of [Client.NewFairLock]: Redisson's RedissonFairLock. Its hash is a plain lock's. Who waits
// stands in a line in Redis (line.go).
var fair = &kind{name: "fair", number: 2, lines: true, protocol: fairLock{}}

// fairLock renews, counts and inspects as a plain lock does. It has no registry of waiters to leave, and nothing of it
// is launched.
type fairLock struct{ plainLock }

func (fairLock) keys(key, client string) lua.Keys { return lua.FairKeysOf(key, client) }

func (fairLock) acquire(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Acquire) (lua.Granted, error) {
	return command.RunFair(ctx, p, k)
}

func (fairLock) transfer(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Transfer) (lua.Granted, error) {
	return command.RunFair(ctx, p, k)
}

func (fairLock) release(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Release) (lua.Verdict, bool, error) {
	return command.RunFair(ctx, p, k)
}

func (fairLock) linger(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Linger) (lua.Verdict, bool, error) {
	return command.RunFair(ctx, p, k)
}

func (fairLock) launchAcquire(context.Context, lua.Launcher, *lua.Keys, *lua.Acquire) *lua.Flight {
	return nil
}

func (fairLock) launchRelease(context.Context, lua.Launcher, *lua.Keys, *lua.Release) *lua.Flight {
	return nil
}

func (fairLock) force(ctx context.Context, p lua.Processor, k *lua.Keys, _ lockstate.Mode, holder string, wake lua.Wake) (bool, error) {
	return lua.ForceFair(ctx, p, k, wake, holder)
}

func (fairLock) report(ctx context.Context, p lua.Processor, k *lua.Keys, _ lua.Wake, fencing bool) (lua.Report, error) {
	return lua.ReadFairReport(ctx, p, k, fencing)
}

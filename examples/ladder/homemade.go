package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// setNX is SET key value NX PX lease. That the lock is another's is no error.
func (p *process) setNX(ctx context.Context, value string, lease time.Duration) (bool, error) {
	ok, err := p.rdb.SetNX(ctx, p.stage.key, value, lease).Result()
	if err != nil {
		return false, err
	}
	if what := fmt.Sprintf("SET NX PX %d", lease.Milliseconds()); ok {
		p.say(what, "OK", took)
	} else {
		p.say(what, "nil", try)
	}
	return ok, nil
}

// spin tries until it has the lock: how nearly every home-made lock waits.
func (p *process) spin(ctx context.Context, value string, pause time.Duration) error {
	for {
		ok, err := p.setNX(ctx, value, p.stage.t(lease))
		if ok || err != nil {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// del removes the key, whoever has set it.
func (p *process) del(ctx context.Context) error {
	n, err := p.rdb.Del(ctx, p.stage.key).Result()
	if err != nil {
		return err
	}
	p.gone("DEL", n, removed)
	return nil
}

// gone says how many keys went, and if any did, with what effect.
func (p *process) gone(what string, n int64, e effect) {
	if n == 0 {
		e = none
	}
	p.say(what, fmt.Sprint(n), e)
}

// value is one that nobody else sets.
func (p *process) value() string { return p.name + "-" + uuid.NewString()[:8] }

var (
	// compareAndDelete is the release from rung 4 on.
	compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

	// compareAndExpire is the renewal from rung 5 on.
	compareAndExpire = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)
)

// deleteIfMine removes the key if it has that value.
func (p *process) deleteIfMine(ctx context.Context, value string) error {
	n, err := compareAndDelete.Run(ctx, p.rdb, []string{p.stage.key}, value).Int64()
	if err != nil {
		return err
	}
	p.gone("EVAL GET, DEL", n, freed)
	return nil
}

// renewing renews the lock until the function it returns is called, which returns when
// the renewal has ended. When a renewal fails it does what most of them do: it says so
// in the log, and the work goes on.
func (p *process) renewing(ctx context.Context, value string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(ctx, p.stage.t(lease/3)) == nil {
			n, err := compareAndExpire.Run(ctx, p.rdb, []string{p.stage.key}, value, p.stage.t(lease).Milliseconds()).Int64()
			if err == nil && n == 0 {
				p.say("renewal", "0, only logged: the work goes on", grave)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

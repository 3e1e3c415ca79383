package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// visit looks at one lock on the server that has it.
type visit struct {
	lock    *Lock
	node    redis.UniversalClient
	server  string // address of node
	sharded bool   // sharded pub/sub is wanted; then whether it is had
	found   *findings

	told map[string]bool // rules that are in found
	bad  bool            // something that is required is missing
}

// answerWithin limits the wait for one answer on a subscription, which go-redis does not
// limit.
const answerWithin = 5 * time.Second

func (v *visit) run(ctx, lasting context.Context) {
	v.told = make(map[string]bool)
	for _, step := range []func(context.Context) error{v.scripts, v.keys, v.card, v.messages, v.subscriptions, v.memory} {
		if ctx.Err() != nil || v.lock.c.isClosing() {
			return
		}
		if err := step(lasting); err != nil {
			v.found.fail(unreachable(v.server, err))
			return
		}
	}
	if v.bad || ctx.Err() != nil {
		return // taken and not released, or not renewed, it would be what Check is to prevent
	}
	if err := v.take(lasting); err != nil {
		v.found.fail(err)
	}
}

// lack notes that a permission is missing, once.
func (v *visit) lack(rule, without string, required bool, err error) {
	if v.told[rule] {
		return
	}
	v.told[rule] = true
	e := &PermissionError{Server: v.server, Rule: rule, Without: without, Required: required, Err: err}
	if required {
		v.bad = true
		v.found.fail(e)
	} else {
		v.found.warnings = append(v.found.warnings, e)
	}
}

// try sends the commands in one pipeline and notes those that the user may not use. It
// calls denied for a refusal that is about their key or channel. The error is that of a server
// which did not answer.
func (v *visit) try(ctx context.Context, trials []trial, denied func(err error)) error {
	pipe := v.node.Pipeline()
	for _, t := range trials {
		pipe.Do(ctx, t.args...)
	}
	cmds, err := pipe.Exec(ctx)
	if len(cmds) == 0 {
		return err
	}
	for i, cmd := range cmds {
		err := cmd.Err()
		var reply redis.Error
		switch what, command := denialOf(err); {
		case err == nil:
		case !errors.As(err, &reply), redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
			return err
		case what == commandDenied && isCommand(command, trials[i].args[0]):
			v.lack("+"+command, trials[i].without, trials[i].required, err)
		case what == commandDenied: // of go-redis' own, at the beginning of a connection
			return err
		case what != notDenied:
			denied(err)
		}
	}
	return nil
}

// isCommand reports whether Redis' name of a command, "pubsub|numsub", is of the one that
// was sent, "pubsub".
func isCommand(name string, sent any) bool {
	name, _, _ = strings.Cut(name, "|")
	return name == sent
}

// scripts tries to run scripts, and what else is about no key or channel.
func (v *visit) scripts(ctx context.Context) error {
	trials := []trial{
		{noScripts, true, []any{"evalsha", strings.Repeat("0", 40), 0}}, // no script has this name
		{noScripts, true, []any{"eval", "return 1", 0}},
	}
	if v.lock.c.cluster != nil {
		// It is for the next command, whose place TIME takes.
		trials = append(trials, trial{noAsking, true, []any{"asking"}}, trial{noQueue, true, []any{"time"}})
	}
	if v.lock.c.cfg.replicas > 0 {
		trials = append(trials, trial{noReplicas, true, []any{"wait", 0, 1}})
	}
	return v.try(ctx, trials, func(error) {})
}

// keys tries what scripts do with each kind of key.
func (v *visit) keys(ctx context.Context) error {
	for _, kind := range trialsOf(v.lock) {
		// A script must have all rights to the key, not only those of its commands.
		trials := append([]trial{{noScripts, true, []any{"eval", "return 1", 1, kind.key}}}, kind.trials...)
		if err := v.try(ctx, trials, func(err error) {
			v.lack(v.lock.rule("~", kind.kind), kind.without, kind.required, err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// card tries what a Client with a name does with the key that says it. In a Cluster the key may be another node's,
// which Redis looks at after the permissions.
func (v *visit) card(ctx context.Context) error {
	c := v.lock.c
	if c.card == nil {
		return nil
	}
	key := c.card.key + ":check"
	return v.try(ctx, []trial{
		{noNaming, false, []any{"set", key, "", "px", 0}}, // an expiry of 0
		{noNaming, false, []any{"get", key}},
		{noNaming, false, []any{"del", key}},
	}, func(err error) { v.lack(c.cardRule(), noNaming, false, err) })
}

const (
	releases  = "redisson_lock__channel:"
	listeners = "redlatch_listeners:"
)

// messages tries to publish as releases do, and to count who listens. Nobody listens to
// the channels of this lock.
func (v *visit) messages(ctx context.Context) error {
	k := &v.lock.keys
	if v.sharded {
		// A server that refuses this, as one before Redis 7 does, has no sharded pub/sub.
		err := v.node.Do(ctx, "pubsub", "shardnumsub", k.Channel()).Err()
		var reply redis.Error
		if err != nil && !errors.As(err, &reply) {
			return err
		}
		v.sharded = err == nil
		if what, command := denialOf(err); what == commandDenied {
			v.lack("+"+command, noSharding, false, err)
		}
	}
	publish := "publish"
	var trials []trial
	if v.sharded {
		publish = "spublish"
	} else if v.lock.c.cluster == nil {
		trials = append(trials, trial{noCounting, false, []any{"pubsub", "numsub", k.Channel(), k.Listeners()}})
	}
	trials = append(trials,
		trial{noMessage, false, []any{publish, k.Channel(), "-0"}},
		trial{noMessage, false, []any{publish, k.Own(), "0"}})
	return v.try(ctx, trials, func(err error) { v.lack(v.lock.rule("&", releases), noMessage, false, err) })
}

// subscriptions tries to listen as waiters do.
func (v *visit) subscriptions(ctx context.Context) error {
	k := &v.lock.keys
	for _, c := range []struct{ name, kind string }{
		{k.Own(), releases}, {k.Channel(), releases}, {k.Listeners(), listeners},
	} {
		err := v.listen(ctx, c.name)
		switch what, command := denialOf(err); {
		case err == nil:
		case what == channelDenied:
			v.lack(v.lock.rule("&", c.kind), noMessage, false, err)
		case what == commandDenied && strings.HasSuffix(command, "unsubscribe"):
			v.lack("+"+command, noEnd, false, err)
		case what == commandDenied && strings.HasSuffix(command, "subscribe"):
			v.lack("+"+command, noMessage, false, err)
		default:
			return err
		}
	}
	return nil
}

// listen subscribes to a channel and ends that.
func (v *visit) listen(ctx context.Context, channel string) error {
	sub, begin, end := v.node.Subscribe(ctx), (*redis.PubSub).Subscribe, (*redis.PubSub).Unsubscribe
	defer sub.Close()
	if v.sharded {
		begin, end = (*redis.PubSub).SSubscribe, (*redis.PubSub).SUnsubscribe
	}
	for _, step := range []func(*redis.PubSub, context.Context, ...string) error{begin, end} {
		if err := step(sub, ctx, channel); err != nil {
			return err
		}
		if _, err := sub.ReceiveTimeout(ctx, answerWithin); err != nil {
			return err
		}
	}
	return nil
}

// memory reads what the server does when its memory is full.
func (v *visit) memory(ctx context.Context) error {
	info, err := v.node.Info(ctx, "memory").Result()
	if err != nil {
		if what, command := denialOf(err); what == commandDenied {
			v.lack("+"+command, noPolicy, false, err)
		}
		return nil // some servers have no such section
	}
	e := &EvictionError{Server: v.server}
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "maxmemory_policy":
			e.Policy = value
		case "maxmemory":
			e.MaxMemory, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	if e.MaxMemory > 0 && e.Policy != "" && e.Policy != "noeviction" {
		v.found.warnings = append(v.found.warnings, e)
	}
	return nil
}

// take takes the lock once and releases it, without fencing, whose counter would stay.
func (v *visit) take(ctx context.Context) error {
	ctx = WithOwner(ctx, "check")
	lock := &Lock{c: v.lock.c, name: v.lock.name, keys: v.lock.keys}
	switch ok, err := lock.TryLock(ctx, 0, 0); {
	case err != nil:
		return err
	case !ok:
		return unchecked(fmt.Errorf("%s: lock %q was taken", v.server, v.lock.name))
	}
	return lock.Unlock(ctx)
}

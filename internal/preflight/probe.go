package preflight

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// probe looks at one lock on the server that has it. Once messages has run, Sharded says whether
// sharded pub/sub is had.
type probe struct {
	Target
	found Findings
	told  map[string]bool // rules that are in found
}

// answerWithin limits the wait for one answer on a subscription, which go-redis does not
// limit.
const answerWithin = 5 * time.Second

// lack notes that a permission is missing, once.
func (p *probe) lack(rule, without string, required bool, err error) {
	if p.told[rule] {
		return
	}
	p.told[rule] = true
	p.found.Denials = append(p.found.Denials, Denial{Rule: rule, Without: without, Required: required, Err: err})
}

// try sends the commands in one pipeline and notes those that the user may not use. It
// calls denied for a refusal that is about their key or channel. The error is that of a server
// which did not answer.
func (p *probe) try(ctx context.Context, trials []aclCommand, denied func(err error)) error {
	pipe := p.Node.Pipeline()
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
		switch what, command := DenialOf(err); {
		case err == nil:
		case !errors.As(err, &reply), redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
			return err
		case what == Command && isCommand(command, trials[i].args[0]):
			p.lack("+"+command, trials[i].without, trials[i].required, err)
		case what == Command: // of go-redis' own, at the beginning of a connection
			return err
		case what != Nothing:
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
func (p *probe) scripts(ctx context.Context) error {
	trials := []aclCommand{
		{noScripts, true, []any{"evalsha", strings.Repeat("0", 40), 0}}, // no script has this name
		{noScripts, true, []any{"eval", "return 1", 0}},
	}
	if p.Cluster {
		// It is for the next command, whose place TIME takes.
		trials = append(trials, aclCommand{noAsking, true, []any{"asking"}}, aclCommand{noQueue, true, []any{"time"}})
	}
	if p.Replicas {
		trials = append(trials, aclCommand{noReplicas, true, []any{"wait", 0, 1}})
	}
	return p.try(ctx, trials, func(error) {})
}

// keys tries what scripts do with each kind of key.
func (p *probe) keys(ctx context.Context) error {
	for _, kind := range commandsOf(&p.Keys, p.Fencing) {
		// A script must have all rights to the key, not only those of its commands.
		trials := append([]aclCommand{{noScripts, true, []any{"eval", "return 1", 1, kind.key}}}, kind.trials...)
		if err := p.try(ctx, trials, func(err error) {
			p.lack(p.rule("~", kind.kind), kind.without, kind.required, err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// name tries what a Client with a name does with the key that says it. In a Cluster the key may be
// another node's, which Redis looks at after the permissions.
func (p *probe) name(ctx context.Context) error {
	key := p.NameKey
	if key == "" {
		return nil
	}
	return p.try(ctx, []aclCommand{
		{noNaming, false, []any{"set", key, "", "px", 0}}, // an expiry of 0
		{noNaming, false, []any{"get", key}},
		{noNaming, false, []any{"del", key}},
	}, func(err error) { p.lack(p.nameRule(), noNaming, false, err) })
}

const listeners = "redlatch_listeners:"

// releases is what the channels begin with on which releases are told.
func (p *probe) releases() string {
	if p.Keys.ReadWrite() {
		return "redisson_rwlock:"
	}
	return "redisson_lock__channel:"
}

// messages tries to publish as releases do, and to count who listens. Nobody listens to
// the channels of this lock.
func (p *probe) messages(ctx context.Context) error {
	k := &p.Keys
	if p.Sharded {
		// A server that refuses this, as one before Redis 7 does, has no sharded pub/sub.
		err := p.Node.Do(ctx, "pubsub", "shardnumsub", k.Channel()).Err()
		var reply redis.Error
		if err != nil && !errors.As(err, &reply) {
			return err
		}
		p.Sharded = err == nil
		if what, command := DenialOf(err); what == Command {
			p.lack("+"+command, noSharding, false, err)
		}
	}
	publish := "publish"
	var trials []aclCommand
	if p.Sharded {
		publish = "spublish"
	} else if !p.Cluster {
		trials = append(trials, aclCommand{noCounting, false, []any{"pubsub", "numsub", k.Channel(), k.Listeners()}})
	}
	trials = append(trials,
		aclCommand{noMessage, false, []any{publish, k.Channel(), "-0"}},
		aclCommand{noMessage, false, []any{publish, k.Own(), "0"}})
	return p.try(ctx, trials, func(err error) { p.lack(p.rule("&", p.releases()), noMessage, false, err) })
}

// subscriptions tries to listen as waiters do.
func (p *probe) subscriptions(ctx context.Context) error {
	k := &p.Keys
	for _, c := range []struct{ name, kind string }{
		{k.Own(), p.releases()}, {k.Channel(), p.releases()}, {k.Listeners(), listeners},
	} {
		err := p.listen(ctx, c.name)
		switch what, command := DenialOf(err); {
		case err == nil:
		case what == Channel:
			p.lack(p.rule("&", c.kind), noMessage, false, err)
		case what == Command && strings.HasSuffix(command, "unsubscribe"):
			p.lack("+"+command, noEnd, false, err)
		case what == Command && strings.HasSuffix(command, "subscribe"):
			p.lack("+"+command, noMessage, false, err)
		default:
			return err
		}
	}
	return nil
}

// listen subscribes to a channel and ends that.
func (p *probe) listen(ctx context.Context, channel string) error {
	sub, begin, end := p.Node.Subscribe(ctx), (*redis.PubSub).Subscribe, (*redis.PubSub).Unsubscribe
	defer sub.Close()
	if p.Sharded {
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
func (p *probe) memory(ctx context.Context) error {
	info, err := p.Node.Info(ctx, "memory").Result()
	if err != nil {
		if what, command := DenialOf(err); what == Command {
			p.lack("+"+command, noPolicy, false, err)
		}
		return nil // some servers have no such section
	}
	var e Eviction
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "maxmemory_policy":
			e.Policy = value
		case "maxmemory":
			e.MaxMemory, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	if e.MaxMemory > 0 && e.Policy != "" && e.Policy != "noeviction" {
		p.found.Eviction = &e
	}
	return nil
}

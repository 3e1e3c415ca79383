package reentrant

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/multi"
)

// Member returns the Lock as a MultiLock uses it. Programs pass the Lock itself to a MultiLock.
func (l *Lock) Member() multi.Member {
	return &lockMember{Lock: l, asking: make(chan struct{}, maxAsking)}
}

// maxAsking is how many questions to one server may be in flight. A caller that leaves does not end its
// question, and the questions that a silent server leaves unanswered must not take all connections.
const maxAsking = 4

type lockMember struct {
	*Lock
	asking chan struct{} // capacity maxAsking; one item for each question in flight
}

func (m *lockMember) Parts() []multi.Part {
	return []multi.Part{m.part()}
}

// part names the lock among the locks of all Clients.
func (l *Lock) part() multi.Part {
	return multi.Part{Server: l.c.address, Key: l.c.cfg.prefix + l.name, Client: l.c.id}
}

func (m *lockMember) Lease() time.Duration { return m.c.cfg.lease }

func (m *lockMember) Delay() time.Duration { return m.c.cfg.ackWithin }

// Take implements [multi.Member]. Only the terms count, and not what [Lock.With] says. The MultiLock
// limits the call, and the release of its hold.
func (m *lockMember) Take(ctx context.Context, terms multi.Terms) (multi.Tenure, error) {
	// The hold's ctx is made from the one given to Acquire, and must outlive it.
	lasting, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(endOf(ctx)) })
	hold, err := m.hold(lasting, &request{caller: caller{terms: terms, member: true}})
	if err == nil && stop() {
		return &tenure{Hold: hold, end: end}, nil
	}
	defer end(nil)
	if err == nil { // ctx ended at this very moment
		err = &NotAcquiredError{Name: m.name, Err: whyEnded(ctx)}
		_ = hold.Release(ctx) // goes on in the background
	}
	stop()
	return nil, err
}

// tenure is a Hold that does not end with the ctx of the call that took it.
type tenure struct {
	*Hold
	end context.CancelCauseFunc
}

func (t *tenure) Tokens() []int64  { return []int64{t.Token()} }
func (t *tenure) Owners() []string { return []string{t.Owner()} }

func (t *tenure) Covers(p multi.Part) (multi.Hold, bool) {
	s := t.h.s
	return (*holdScope)(t.handle), p.Client == s.c.id && p.Key == s.keys.Lock
}

func (t *tenure) Had(p multi.Part) multi.Hold {
	hold, covered := t.Covers(p)
	if !covered {
		return nil
	}
	return hold
}

func (t *tenure) Release(ctx context.Context) error {
	defer t.end(nil) // after the hold's ctx, which then has its own cause
	return t.Hold.Release(ctx)
}

// ReleaseAfter implements [multi.Tenure]. The MultiLock has asked before whether the hold is alone. If
// the owner has entered the lock again since, ReleaseAfter releases the hold at once.
func (t *tenure) ReleaseAfter(ctx context.Context, d time.Duration) error {
	defer t.end(nil)
	err := t.Hold.ReleaseAfter(ctx, d)
	if errors.Is(err, ErrNested) {
		err = t.Hold.Release(ctx)
	}
	return err
}

func (t *tenure) Alone() bool {
	s := t.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.h.Count() <= 1
}

// Servers asks the server, or the cluster node, that has the lock.
func (m *lockMember) Servers(ctx context.Context) ([]multi.Server, error) {
	select {
	case m.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, named(m.name, whyEnded(ctx))
	}
	answer, err := call(ctx, m.c, nil, func(ctx context.Context) (got response[multi.Server]) {
		defer func() { <-m.asking }()
		got.value, got.err = m.c.describe(ctx, m.keys.Lock)
		return got
	})
	switch {
	case errors.Is(err, ErrClosed):
		<-m.asking // no question was sent
		return nil, ErrClosed
	case err != nil:
		return nil, named(m.name, whyEnded(ctx))
	case answer.err != nil:
		return nil, named(m.name, answer.err)
	}
	return []multi.Server{answer.value}, nil
}

// describe asks the server that has the key for its run_id and its uptime.
func (c *Client) describe(ctx context.Context, key string) (multi.Server, error) {
	var node interface {
		Process(ctx context.Context, cmd redis.Cmder) error
	} = c.rdb
	if c.cluster != nil {
		master, err := c.cluster.MasterForKey(ctx, key)
		if err != nil {
			return multi.Server{}, err
		}
		node = master
	} else if client, ok := c.rdb.(*redis.Client); ok && c.reach.limit == 0 {
		node = bounded{client, replyWithin}
	}
	info := question{redis.NewStringCmd(ctx, "info", "server")}
	err := node.Process(ctx, info)
	c.reload.Learn(ctx, err)
	if err != nil {
		return multi.Server{}, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(info.Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	uptime, err := strconv.ParseInt(fields["uptime_in_seconds"], 10, 32)
	if err != nil || uptime < 0 || fields["run_id"] == "" {
		return multi.Server{}, errors.New("INFO tells no run_id or no uptime_in_seconds")
	}
	return multi.Server{RunID: fields["run_id"], Uptime: time.Duration(uptime) * time.Second}, nil
}

// question is a command that go-redis sends once: the caller repeats it.
type question struct {
	*redis.StringCmd
}

// NoRetry implements [redis.Cmder].
func (question) NoRetry() bool { return true }

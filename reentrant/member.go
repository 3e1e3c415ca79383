package reentrant

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Member is what a lock over several servers needs of each lock that it is made of;
// package multilock makes such locks. [Lock.Member] gives that of a Lock. This type and those
// that it names are for package multilock; programs do not need them.
type Member interface {
	// Name returns the lock's name.
	Name() string

	// Parts returns the single locks that the member consists of, always in the same
	// order: one, unless it is a lock over several servers itself.
	Parts() []Part

	// Lease returns the lease of holds that are renewed, the longest of the parts'.
	Lease() time.Duration

	// Delay returns how long a grant may take by configuration, beside what the
	// network takes: the timeout of [WithReplicaAcks].
	Delay() time.Duration

	// Servers asks every server that the member must not be forgotten by who it is.
	// None means that the member survives a server that forgets.
	Servers(ctx context.Context) ([]Server, error)

	// Take takes the member for the owner of ctx as [Lock.Acquire] does. It returns
	// soon after ctx has ended, whatever Redis does, and gives back what is granted
	// later. The Tenure does not end with ctx. An error that is [ErrBusy] says that the
	// member was another owner's.
	Take(ctx context.Context, terms Terms) (Tenure, error)
}

// Part names one lock on one server, for package multilock. Two parts of the same Client and Key are the same
// lock; of the same Key and Server as well, if their addresses are written alike.
type Part struct {
	Server string // its address as the redis client has it; a cluster's addresses, sorted
	Key    string // in Redis
	Client string // the Client's ID
}

// Same reports whether both are the same lock of the same Client.
func (p Part) Same(q Part) bool { return p.Client == q.Client && p.Key == q.Key }

// Server is a Redis server as it describes itself, for package multilock.
type Server struct {
	RunID  string        // another one after each start
	Uptime time.Duration // since the start, to about a second
}

// Terms are the options of one acquisition, as values, for package multilock.
type Terms struct {
	Limited bool          // Wait is the limit
	Wait    time.Duration // 0 or less: a single attempt
	Lease   time.Duration // never renewed; 0: renewed, with the Client's lease
}

// TermsOf returns the terms that the options stand for, or their error, for package multilock.
func TermsOf(opts ...AcquireOption) (Terms, error) {
	var r request
	for _, opt := range opts {
		if err := opt(&r); err != nil {
			return Terms{}, err
		}
	}
	t := Terms{Limited: r.limited, Wait: r.wait}
	if r.fixed {
		t.Lease = r.lease
	}
	return t, nil
}

func (t Terms) options() (opts []AcquireOption) {
	if t.Limited {
		opts = append(opts, WithWait(t.Wait))
	}
	if t.Lease != 0 {
		opts = append(opts, WithFixedLease(t.Lease))
	}
	return opts
}

// Tenure is a hold on a [Member], for package multilock.
type Tenure interface {
	Context() context.Context // ends with the hold, for the cause of its end
	ValidUntil() time.Time
	Tokens() []int64 // fencing tokens, one for each part
	Owners() []string
	Release(ctx context.Context) error

	// Extend and ReleaseAfter are those of [Hold], but ReleaseAfter releases in any case: if the owner has
	// other holds, without leaving the lock to nobody. Alone reports that it has none.
	Extend(ctx context.Context, d time.Duration) error
	ReleaseAfter(ctx context.Context, d time.Duration) error
	Alone() bool

	// Covers returns the hold on that part, nil if the tenure has none. It reports false if the part
	// is not one of the member's.
	Covers(p Part) (hold *Hold, covered bool)

	// Had is that of [Cover], for the tenure.
	Had(p Part) *Hold
}

// Member returns the lock as a part of a lock over several servers, for package
// multilock. Programs pass the Lock itself.
func (l *Lock) Member() Member {
	return &lockMember{Lock: l.bare(), asking: make(chan struct{}, maxAsking)}
}

// maxAsking is how many questions to one server may be in flight. A caller that
// leaves does not end its question; those that a silent server leaves unanswered must
// not take all connections.
const maxAsking = 4

type lockMember struct {
	*Lock
	asking chan struct{} // capacity maxAsking; one item for each question in flight
}

func (m *lockMember) Parts() []Part {
	return []Part{m.part()}
}

// part names the lock among those of all Clients.
func (l *Lock) part() Part {
	return Part{Server: l.c.address, Key: l.c.cfg.prefix + l.name, Client: l.c.id}
}

func (m *lockMember) Lease() time.Duration { return m.c.cfg.lease }

func (m *lockMember) Delay() time.Duration { return m.c.cfg.ackWithin }

func (m *lockMember) Take(ctx context.Context, terms Terms) (Tenure, error) {
	// The hold's ctx is made from the one given to Acquire, and must outlive it.
	lasting, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(endOf(ctx)) })
	hold, err := m.hold(lasting, append(terms.options(), asMember)...)
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

// asMember leaves the limits of a call and of its hold's release to package multilock.
func asMember(r *request) error {
	r.member = true
	return nil
}

// tenure is a Hold that ends by itself only.
type tenure struct {
	*Hold
	end context.CancelCauseFunc
}

func (t *tenure) Tokens() []int64  { return []int64{t.Token()} }
func (t *tenure) Owners() []string { return []string{t.Owner()} }

func (t *tenure) Covers(p Part) (*Hold, bool) {
	s := t.h.s
	return t.Hold, p.Client == s.c.id && p.Key == s.keys.Lock
}

func (t *tenure) Had(p Part) *Hold {
	if _, covered := t.Covers(p); !covered {
		return nil
	}
	return t.Hold
}

func (t *tenure) Release(ctx context.Context) error {
	defer t.end(nil) // after the hold's ctx, which then has its own cause
	return t.Hold.Release(ctx)
}

// ReleaseAfter is [Tenure]'s. It finds the lock entered again since it was asked whether the hold is alone, or not.
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
	return t.h.count <= 1
}

// Servers asks the server, or the cluster node, that has the lock.
func (m *lockMember) Servers(ctx context.Context) ([]Server, error) {
	select {
	case m.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, named(m.name, whyEnded(ctx))
	}
	var server Server
	var answer error
	switch err := m.c.call(ctx, nil, nil, func(ctx context.Context) {
		defer func() { <-m.asking }()
		server, answer = m.c.describe(ctx, m.keys.Lock)
	}); {
	case errors.Is(err, ErrClosed):
		<-m.asking // nobody was asked
		return nil, ErrClosed
	case err != nil:
		return nil, named(m.name, whyEnded(ctx)) // and not answer, which may still be written
	case answer != nil:
		return nil, named(m.name, answer)
	}
	return []Server{server}, nil
}

// describe asks the server that has the key who it is.
func (c *Client) describe(ctx context.Context, key string) (Server, error) {
	var node interface {
		Process(ctx context.Context, cmd redis.Cmder) error
	} = c.rdb
	if c.cluster != nil {
		master, err := c.cluster.MasterForKey(ctx, key)
		if err != nil {
			return Server{}, err
		}
		node = master
	} else if client, ok := c.rdb.(*redis.Client); ok && c.reach.limit == 0 {
		node = bounded{client, replyWithin}
	}
	info := question{redis.NewStringCmd(ctx, "info", "server")}
	err := node.Process(ctx, info)
	c.reload.learn(ctx, err)
	if err != nil {
		return Server{}, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(info.Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	uptime, err := strconv.ParseInt(fields["uptime_in_seconds"], 10, 32)
	if err != nil || uptime < 0 || fields["run_id"] == "" {
		return Server{}, errors.New("INFO tells no run_id or no uptime_in_seconds")
	}
	return Server{RunID: fields["run_id"], Uptime: time.Duration(uptime) * time.Second}, nil
}

// question is a command that go-redis sends once: whoever asks asks again.
type question struct {
	*redis.StringCmd
}

// NoRetry implements [redis.Cmder].
func (question) NoRetry() bool { return true }

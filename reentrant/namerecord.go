package reentrant

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/redlatch/redlatch/lua"
)

const (
	// cardTTL is how long Redis keeps the name of a Client that has died.
	cardTTL = time.Minute
	// cardPeriod is how often the key is written: two of three may fail.
	cardPeriod = cardTTL / 3
	// firstReport is when the first report is written again. The first one was written as the call for the first lock began,
	// and says that nothing is held.
	firstReport = time.Second

	maxClientName = 64  // bytes
	maxHost       = 255 // bytes
)

// WithClientName gives the Client a name for people. [Client.Inspect] of any Client then says
// "billing@web-3:411", with host and process id, instead of the Client's ID, and [Client.Clients] has a
// report of it. A name has 1 to 64 bytes of printable UTF-8; any other is [ErrInvalidOption].
//
// The Client keeps the name in one key of its own, redlatch_client:{prefix+ID}, and its report in another, both with
// a TTL of a minute. It has a place in a sorted set of all such Clients, redlatch_client:{prefix}. It writes them
// every 20 s while it has locks, or calls that take one, and once more a second after the first time; [Client.Close]
// deletes them. The Redis user needs a right to such keys, which [Client.Check] looks at. Without that right the
// Client has no name, and all else works. Clients with another prefix do not find the name. Without the option the
// Client writes nothing.
func WithClientName(name string) Option {
	return func(c *config) error {
		c.clientName = name
		if name == "" || len(name) > maxClientName || !readable(name) {
			return fmt.Errorf("%w: client name %q", ErrInvalidOption, name)
		}
		return nil
	}
}

// nameRecord is the key with the Client's name. It is nil for a Client without a name.
//
// A goroutine writes the key while the Client is in use. It ends when the Client was not in use for a
// period: if used is set, the goroutine runs. Close ends it, and waits for it.
type nameRecord struct {
	c          *Client
	key, value string
	began      time.Time // when the Client was made

	used atomic.Bool // the Client took a lock since the key was last written; set with mu

	mu      sync.Mutex
	keeping bool // the goroutine runs; guarded by mu

	turn  chan struct{} // the right to have a command for the key in flight; capacity 1
	there bool          // the key may be in Redis; written with the turn
	torn  bool          // delete was called: write the key no more; written with the turn
}

func newNameRecord(c *Client) *nameRecord {
	if c.cfg.clientName == "" {
		return nil
	}
	return &nameRecord{
		c: c, key: lua.ClientKey(c.cfg.prefix, c.id), turn: make(chan struct{}, 1),
		began: time.Now(),
		value: fmt.Sprintf("%s@%s:%d", c.cfg.clientName, hostname(), os.Getpid()),
	}
}

func hostname() string {
	host, err := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, host)
	if err != nil || host == "" || len(host) > maxHost {
		return "?"
	}
	return host
}

// name is the Client's name.
func (r *nameRecord) name() string {
	if r == nil {
		return ""
	}
	return r.value
}

// use makes sure that the key is written. Each call that takes a lock calls it between [Client.begin] and
// [Client.end].
func (r *nameRecord) use() {
	if r == nil || r.used.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used.Store(true)
	if !r.keeping {
		r.keeping = true
		r.c.workers.Go(r.renew) // ends when the Client is not in use, or with its ctx
	}
}

// renew writes the key each cardPeriod until the Client was not in use for one.
func (r *nameRecord) renew() {
	over := false
	defer func() {
		if !over { // a hook of go-redis has ended the goroutine: the next use begins another one
			r.mu.Lock()
			defer r.mu.Unlock()
			r.keeping = false
			r.used.Store(false)
		}
	}()
	for first := true; ; first = false {
		r.used.Store(false)
		r.write()
		rest := cardPeriod
		if first && r.c.pause(firstReport) {
			rest -= firstReport
			if r.c.held.Load() > 0 {
				r.write()
			}
		}
		if !r.c.pause(rest) || r.idle() {
			over = true
			return
		}
	}
}

// idle ends the goroutine, in one step, if the Client is not in use. A later use starts another one.
func (r *nameRecord) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used.Load() || r.c.work.Load() > 0 {
		return false
	}
	r.keeping = false
	return true
}

// write writes the key, and tries once. A failure costs the name at worst, and write tries again a period
// later.
func (r *nameRecord) write() {
	c := r.c
	if !c.begin() { // Close waits for the command
		return
	}
	defer c.end()
	if !take(c.ctx, r.turn) {
		return
	}
	defer func() { <-r.turn }()
	if r.torn {
		return
	}
	r.there = true
	err := c.writeReport(c.ctx)
	r.there = err == nil || lua.Unknown(err)
}

// delete deletes the key, until ctx ends. A Client that closes calls it: the key would say for a minute
// that the Client is there.
func (r *nameRecord) delete(ctx context.Context) {
	if r == nil {
		return
	}
	_ = r.c.call(ctx, nil, nil, func(ctx context.Context) {
		r.turn <- struct{}{}
		defer func() { <-r.turn }()
		r.torn = true
		if r.there {
			r.there = false
			r.c.deleteReport(ctx) // or it expires
		}
	})
}

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

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

const (
	// cardTTL is how long a Client is known by name that has died.
	cardTTL = time.Minute
	// cardPeriod is how often the key is written: two of three may fail.
	cardPeriod = cardTTL / 3

	maxClientName = 64  // bytes
	maxHost       = 255 // bytes
)

// WithClientName gives the Client a name for people: [Client.Inspect] of any Client then says "billing@web-3:411", with host and
// process id, where it would say the Client's ID. 1 to 64 bytes of printable UTF-8; any other is [ErrInvalidOption].
//
// The name is kept in one key of its own, redlatch_client:{prefix+ID}, with a TTL of a minute, written every 20 s while the Client has
// locks, or calls that take one, and deleted by [Client.Close]. The Redis user needs a right to such keys, which [Client.Check] looks at;
// without it the Client has no name, and nothing else is amiss. Clients with another prefix do not find it. Without the
// option nothing is written.
func WithClientName(name string) Option {
	return func(c *config) error {
		c.clientName = name
		if name == "" || len(name) > maxClientName || !readable(name) {
			return fmt.Errorf("%w: client name %q", ErrInvalidOption, name)
		}
		return nil
	}
}

// card is the key that says what the Client calls itself. It is nil for a Client without a name.
//
// A goroutine writes it while the Client is in use, and ends when that has not been so for a period: used implies that
// there is one. Close ends it, and waits for it.
type card struct {
	c          *Client
	key, value string

	used atomic.Bool // the Client took a lock since the key was last written; set with mu

	mu      sync.Mutex
	keeping bool // the goroutine runs; guarded by mu

	wire  chan struct{} // the right to have a command for the key in flight; capacity 1
	there bool          // the key may be in Redis; guarded by wire
	torn  bool          // it is not to be written any more; guarded by wire
}

func newCard(c *Client) *card {
	if c.cfg.clientName == "" {
		return nil
	}
	return &card{
		c: c, key: lua.ClientKey(c.cfg.prefix, c.id), wire: make(chan struct{}, 1),
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

// name is what the Client calls itself.
func (k *card) name() string {
	if k == nil {
		return ""
	}
	return k.value
}

// use is for every call that takes a lock, between [Client.begin] and [Client.end].
func (k *card) use() {
	if k == nil || k.used.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used.Store(true)
	if !k.keeping {
		k.keeping = true
		k.c.crew.gone.Go(k.keep) // ends when the Client is not in use, or with its ctx
	}
}

func (k *card) keep() {
	over := false
	defer func() {
		if !over { // a hook of go-redis has ended the goroutine: the next use begins another one
			k.mu.Lock()
			defer k.mu.Unlock()
			k.keeping = false
			k.used.Store(false)
		}
	}()
	for {
		k.used.Store(false)
		k.write()
		if !k.c.pause(cardPeriod) || k.idle() {
			over = true
			return
		}
	}
}

// idle ends the goroutine, in one step, if the Client is not in use: a use after it begins another one.
func (k *card) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used.Load() || k.c.work.Load() > 0 {
		return false
	}
	k.keeping = false
	return true
}

// write tries once. A failure costs the name at worst, and is tried again a period later.
func (k *card) write() {
	c := k.c
	if !c.begin() { // Close waits for the command
		return
	}
	defer c.end()
	if !take(c.ctx, k.wire) {
		return
	}
	defer func() { <-k.wire }()
	if k.torn {
		return
	}
	k.there = true
	err := c.plain.Process(c.ctx, redis.NewStatusCmd(c.ctx, "set", k.key, k.value, "px", cardTTL.Milliseconds()))
	k.there = err == nil || lua.Unknown(err)
}

// tear deletes the key, until ctx ends, for a Client that closes: the key would say for a minute that it is there.
func (k *card) tear(ctx context.Context) {
	if k == nil {
		return
	}
	_ = k.c.call(ctx, nil, nil, func(ctx context.Context) {
		k.wire <- struct{}{}
		defer func() { <-k.wire }()
		k.torn = true
		if k.there {
			k.there = false
			_ = k.c.plain.Process(ctx, redis.NewIntCmd(ctx, "del", k.key)) // or it expires
		}
	})
}

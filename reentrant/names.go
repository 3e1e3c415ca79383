package reentrant

import (
	"context"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// maxNames is how many names of other Clients this Client remembers.
const maxNames = 1024

// maxLabel is how long a name may be that is read, with host and process. No Client writes a longer one.
const maxLabel = 512

// names are the names of other Clients that this Client knows already. Errors and events use them, and
// must not ask Redis.
type names struct {
	mu    sync.Mutex
	known map[string]string // by the Client's ID; guarded by mu
}

func (n *names) of(client string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[client]
}

func (n *names) learn(client, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= maxNames {
		n.known = make(map[string]string)
	}
	n.known[client] = name
}

// nameOf returns the name of the Client of an owner's field, if it is known here: of this Client, and of
// the Clients that an [Lock.Info] has been about. It asks nobody. It is empty if the name is not known.
func (c *Client) nameOf(field string) string {
	if !ofRedlatch(field) {
		return ""
	}
	return c.nameOfClient(field[:36])
}

func (c *Client) nameOfClient(id string) string {
	if id == c.id {
		return c.nameRecord.name()
	}
	return c.names.of(id)
}

// nameAll gives the parties of Redlatch their names. It asks Redis, in one pipeline, for the names that
// this Client does not know. A known name stays right: a Client keeps its name.
func (c *Client) nameAll(ctx context.Context, parties []*Party) {
	asked := make(map[string]*redis.StringCmd)
	var pipe redis.Pipeliner
	for _, p := range parties {
		if p.From != FromGo || p.Client == c.id || asked[p.Client] != nil || c.names.of(p.Client) != "" {
			continue
		}
		if pipe == nil {
			pipe = c.pipeline()
		}
		asked[p.Client] = pipe.Get(ctx, lua.ClientKey(c.cfg.prefix, p.Client))
	}
	if pipe != nil {
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for id, cmd := range asked {
		if name := cmd.Val(); cmd.Err() == nil && readable(name) {
			c.names.learn(id, name)
		}
	}
	for _, p := range parties {
		if p.From == FromGo {
			p.Name = c.nameOfClient(p.Client)
		}
	}
}

// pipeline is a pipeline to all nodes. Where possible it bounds the wait for replies.
func (c *Client) pipeline() redis.Pipeliner {
	if rdb, ok := c.rdb.(*redis.Client); ok && c.reach.limit == 0 {
		return bounded{rdb, replyWithin}.Pipeline()
	}
	return c.rdb.Pipeline()
}

// readable reports whether a text can be shown as it is. Any client that may write the key may put any
// text there.
func readable(text string) bool {
	return text != "" && len(text) <= maxLabel && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

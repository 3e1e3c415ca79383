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

// maxNames is of how many other Clients the names are remembered.
const maxNames = 1024

// maxLabel is how long a name that is read may be, with host and process: what is longer was not written by a Client.
const maxLabel = 512

// names are those of other Clients that are known here already, for those who must not ask.
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

// nameOf is what the Client of an owner's field calls itself, as far as that is known here: of this Client, and of
// those that an [Lock.Info] has been about. It asks nobody; empty if it is not known.
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

// nameAll gives Clients of Redlatch their names, and asks Redis for those of others, in one pipeline. A name
// of before is good still: a Client keeps its own.
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

// pipeline is one to all nodes, with the wait for replies bounded where that can be.
func (c *Client) pipeline() redis.Pipeliner {
	if rdb, ok := c.rdb.(*redis.Client); ok && c.reach.limit == 0 {
		return bounded{rdb, replyWithin}.Pipeline()
	}
	return c.rdb.Pipeline()
}

// readable reports whether a text can be shown as it is. Whoever may write the key may put anything there.
func readable(text string) bool {
	return text != "" && len(text) <= maxLabel && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

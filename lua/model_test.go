package lua_test

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/lua"
)

// command is one command as a client numbered it. It can be sent any number of
// times, at any time.
type command struct {
	kind   kind
	client int // index of the client
	owner  string
	to     string // transfer
	n      int    // count
	order  lua.Order
}

type kind byte

const (
	acquire kind = iota
	count
	release
	transfer
	renew
	kinds
)

func (c command) String() string {
	name := []string{"acquire", "count", "release", "transfer", "renew"}[c.kind]
	return fmt.Sprintf("%s %s>%s n=%d number=%d epoch=%v", name, c.owner, c.to, c.n, c.order.Number, c.order.Epoch)
}

// send executes the command on Redis. A renewal answers Done or NotHeld.
func (c command) send(ctx context.Context, p lua.Processor, k *lua.Keys, wake lua.Wake) (g lua.Granted, err error) {
	switch c.kind {
	case acquire:
		return lua.Acquire{Owner: c.owner, Lease: lease, Order: c.order, Client: fmt.Sprint(c.client), Fencing: true}.Run(ctx, p, k)
	case count:
		return lua.Count{Owner: c.owner, Count: c.n, Lease: lease, Order: c.order}.Run(ctx, p, k)
	case release:
		g.Verdict, _, err = lua.Release{Owner: c.owner, Order: c.order, Wake: wake}.Run(ctx, p, k)
		return g, err
	case transfer:
		return lua.Transfer{From: c.owner, To: c.to, Lease: lease, Order: c.order, Fencing: true}.Run(ctx, p, k)
	default:
		all, err := lua.Renew(ctx, p, []lua.FieldOwner{{Lock: k.Lock, Owner: c.owner}}, lease)
		if err == nil && all[0] == lua.NotOwner {
			g.Verdict = lua.NotHeld
		} else {
			g.Verdict = lua.Done
		}
		return g, err
	}
}

// model is what the lock should be.
type model struct {
	holder string // empty when free
	count  int
	epochs [2]uint64 // of the clients
	token  int64     // the last one issued
}

// apply says what the command should do and be answered.
func (m *model) apply(c command) lua.Verdict {
	if c.kind != renew {
		if m.epochs[c.client] > c.order.Number {
			return lua.Stale
		}
		if c.order.Epoch > 0 {
			m.epochs[c.client] = c.order.Number
		}
	}
	holds := m.holder == c.owner
	switch {
	case c.kind == acquire && (holds || m.holder == ""):
		m.holder, m.count = c.owner, 1
		return lua.Done
	case c.kind == acquire:
		return lua.Busy
	case c.kind == transfer && holds:
		m.holder, m.count = c.to, 1
		return lua.Done
	case c.kind == transfer && m.holder == c.to:
		return lua.Done
	case !holds:
		return lua.NotHeld
	case c.kind == count:
		m.count = c.n
	case c.kind == release:
		m.holder, m.count = "", 0
	}
	return lua.Done
}

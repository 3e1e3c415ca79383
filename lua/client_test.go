package lua_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// For how long a free lock is kept in these tests.
const (
	pauses = 20 * time.Second
	yields = 5 * time.Second
)

var (
	wakeCounted   = lua.NewWake("PUBLISH", pauses, yields, true)
	wakeUncounted = lua.NewWake("PUBLISH", pauses, yields, false)
	wakeSharded   = lua.NewWake("SPUBLISH", pauses, yields, true)
)

// client sends commands as one Redlatch client would: it numbers them, and its
// owners carry its id. What a test leaves out of a command gets a usual value.
type client struct {
	p      lua.Processor
	id     string
	keys   lua.Keys
	number uint64
	wake   lua.Wake
}

func (r *rig) client(id string) *client {
	return &client{
		p:    r.rdb,
		id:   id,
		keys: lua.KeysOf(name, id),
		wake: wakeCounted,
	}
}

// next numbers a command; marked also makes the number the epoch.
func (c *client) next() lua.Order {
	c.number++
	return lua.Order{Number: c.number}
}

func (c *client) marked() lua.Order {
	order := c.next()
	order.Epoch = lease
	return order
}

func (c *client) owner(who string) string { return c.id + ":" + who }

func (c *client) order(order lua.Order) lua.Order {
	if order.Number == 0 {
		order.Number = c.next().Number
	}
	return order
}

func (c *client) fill(a lua.Acquire) lua.Acquire {
	a.Owner, a.Client, a.Order = c.owner(a.Owner), c.id, c.order(a.Order)
	if a.Lease == 0 {
		a.Lease = lease
	}
	return a
}

func (c *client) acquire(t *testing.T, a lua.Acquire) lua.Granted {
	t.Helper()
	g, err := c.fill(a).Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g
}

func (c *client) count(t *testing.T, cmd lua.Count) lua.Granted {
	t.Helper()
	cmd.Owner, cmd.Order = c.owner(cmd.Owner), c.order(cmd.Order)
	g, err := cmd.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return g
}

func (c *client) release(t *testing.T, who string, order lua.Order) (lua.Verdict, bool) {
	t.Helper()
	v, set, err := lua.Release{Owner: c.owner(who), Order: c.order(order), Wake: c.wake}.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	return v, set
}

func (c *client) transfer(t *testing.T, cmd lua.Transfer) lua.Granted {
	t.Helper()
	cmd.From, cmd.To, cmd.Order, cmd.Wake = c.owner(cmd.From), c.owner(cmd.To), c.order(cmd.Order), c.wake
	if cmd.Lease == 0 {
		cmd.Lease = lease
	}
	g, err := cmd.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("transfer: %v", err)
	}
	return g
}

func (c *client) renew(t *testing.T, who string, lease time.Duration) lua.Renewal {
	t.Helper()
	all, err := lua.Renew(t.Context(), c.p, []lua.FieldOwner{{Lock: c.keys.Lock, Owner: c.owner(who)}}, lease)
	if err != nil || len(all) != 1 {
		t.Fatalf("renew: %v, %v", all, err)
	}
	return all[0]
}

func (c *client) leave(t *testing.T) {
	t.Helper()
	if _, err := (lua.Leave{Client: c.id, Order: c.next(), Wake: c.wake}).Run(t.Context(), c.p, &c.keys); err != nil {
		t.Fatalf("leave: %v", err)
	}
}

// leave sends the command through p.
func leave(ctx context.Context, c *client, p lua.Processor) error {
	_, err := lua.Leave{Client: c.id, Order: c.next(), Wake: c.wake}.Run(ctx, p, &c.keys)
	return err
}

func (c *client) force(t *testing.T) bool {
	t.Helper()
	freed, err := lua.Force(t.Context(), c.p, &c.keys, c.wake, "")
	if err != nil {
		t.Fatalf("force: %v", err)
	}
	return freed
}

func (c *client) inspect(t *testing.T, who string) lua.Inspection {
	t.Helper()
	i, err := lua.Inspect(t.Context(), c.p, &c.keys, c.owner(who))
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return i
}

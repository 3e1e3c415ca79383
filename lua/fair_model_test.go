package lua_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/lua"
)

// fairCommand is a command about a fair lock, as a client numbered it. It can be sent any number of times, at any time.
type fairCommand struct {
	kind      fairKind
	client    int
	owner, to string
	ticket    string   // of the waiter: the owner's, and for hand the one of to; empty: the owner does not wait
	lined     bool     // the client believes that it is in the line
	old, new  []string // tickets, of line and leave; of hand new are the newcomers
	n         int
	order     lua.Order
}

type fairKind byte

const (
	fairTry fairKind = iota
	fairFree
	fairHand
	fairLine
	fairLeave
	fairCount
	fairKinds
)

func (c fairCommand) String() string {
	name := []string{"try", "free", "hand", "line", "leave", "count"}[c.kind]
	return fmt.Sprintf("%s %s>%s ticket %q lined %t old %q new %q number=%d epoch=%v",
		name, c.owner, c.to, c.ticket, c.lined, c.old, c.new, c.order.Number, c.order.Epoch)
}

// send executes the command on Redis.
func (c fairCommand) send(ctx context.Context, p lua.Processor, k *lua.Keys, wake lua.Wake) (g lua.Granted, err error) {
	inLine := &lua.InLine{Ticket: c.ticket, Lined: c.lined, Newcomers: c.new, Wait: places, Wake: wake}
	switch c.kind {
	case fairTry:
		return lua.Acquire{Owner: c.owner, Lease: lease, Order: c.order, Fencing: true, InLine: inLine}.RunFair(ctx, p, k)
	case fairFree:
		g.Verdict, _, err = lua.Release{Owner: c.owner, Order: c.order, Wake: wake}.RunFair(ctx, p, k)
	case fairHand:
		return lua.Transfer{From: c.owner, To: c.to, Lease: lease, Order: c.order, Fencing: true, Wake: wake, InLine: inLine}.RunFair(ctx, p, k)
	case fairLine:
		l := lua.LineUp{Client: fmt.Sprint(c.client), Order: c.order, Wait: places, Refresh: c.n == 1, Old: c.old, New: c.new}
		g.Verdict, _, err = l.Run(ctx, p, k)
	case fairLeave:
		g.Verdict, err = lua.LeaveLine{Tickets: c.new, Order: c.order, Wake: wake}.Run(ctx, p, k)
	default:
		return lua.Count{Owner: c.owner, Count: c.n, Lease: lease, Order: c.order}.Run(ctx, p, k)
	}
	return g, err
}

// fairModel is what a fair lock should be. Nobody is left out for not coming: the clock stands still.
type fairModel struct {
	model
	line []string
}

func (m *fairModel) waits(ticket string) bool { return slices.Contains(m.line, ticket) }

func (m *fairModel) out(tickets ...string) {
	m.line = slices.DeleteFunc(m.line, func(t string) bool { return slices.Contains(tickets, t) })
}

func (m *fairModel) join(ticket string) {
	if !m.waits(ticket) {
		m.line = append(m.line, ticket)
	}
}

// rejoin puts a ticket that was dropped behind another one, or to the front.
func (m *fairModel) rejoin(ticket, behind string) {
	m.line = slices.Insert(m.line, slices.Index(m.line, behind)+1, ticket)
}

// overtakes reports whether somebody else is to have the free lock.
func (m *fairModel) overtakes(ticket string, dropped bool) bool {
	return len(m.line) > 0 && m.line[0] != ticket && !dropped
}

// apply says what the command should do and be answered.
func (m *fairModel) apply(c fairCommand) lua.Verdict {
	if m.epochs[c.client] > c.order.Number {
		return lua.Stale
	}
	if c.order.Epoch > 0 {
		m.epochs[c.client] = c.order.Number
	}
	switch c.kind {
	case fairTry:
		return m.try(c)
	case fairHand:
		return m.hand(c)
	case fairLine:
		m.lineUp(c)
	case fairLeave:
		m.out(c.new...)
	case fairFree:
		if m.holder != c.owner {
			return lua.NotHeld
		}
		m.holder, m.count = "", 0
	case fairCount:
		if m.holder != c.owner {
			return lua.NotHeld
		}
		m.count = c.n
	}
	return lua.Done
}

func (m *fairModel) try(c fairCommand) lua.Verdict {
	dropped := c.lined && !m.waits(c.ticket)
	if m.holder != c.owner && (m.holder != "" || m.overtakes(c.ticket, dropped)) {
		switch {
		case dropped:
			m.rejoin(c.ticket, "")
		case c.ticket != "":
			m.join(c.ticket)
		}
		return lua.Busy
	}
	m.holder, m.count = c.owner, 1
	m.out(c.ticket)
	return lua.Done
}

func (m *fairModel) hand(c fairCommand) lua.Verdict {
	if m.holder != c.owner && m.holder != c.to {
		return lua.NotHeld
	}
	for _, ticket := range c.new {
		m.join(ticket)
	}
	dropped := c.lined && !m.waits(c.ticket)
	if m.holder != c.to && m.overtakes(c.ticket, dropped) {
		m.holder, m.count = "", 0
		return lua.PassedOn
	}
	if m.holder != c.to {
		m.holder, m.count = c.to, 1
	}
	m.out(c.ticket)
	return lua.Done
}

func (m *fairModel) lineUp(c fairCommand) {
	behind := ""
	for _, ticket := range c.old {
		if !m.waits(ticket) {
			m.rejoin(ticket, behind)
		}
		behind = ticket
	}
	for _, ticket := range c.new {
		m.join(ticket)
	}
}

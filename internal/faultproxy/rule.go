package faultproxy

import (
	"slices"
	"strings"
	"sync"
)

// Class tells connections that carry commands from those that subscribe.
type Class int

// The classes. A connection is of class Command or PubSub; in a [Rule], Any
// stands for both.
const (
	Any Class = iota
	Command
	PubSub
)

// Rule picks requests and says what happens to them. The zero values of its
// fields pick every request for ever.
type Rule struct {
	Class Class

	// Match picks requests by their arguments, of which the first is the
	// command as it was sent. It must not call the proxy. Nil picks every
	// request, those of the handshake (HELLO, CLIENT) too; see [Named].
	Match func(args []string) bool

	Skip  int // requests picked but let pass at first
	Times int // requests acted on before the rule is spent; 0 for no limit

	Action Action
}

// Named picks requests by the names of their commands, in any case.
func Named(commands ...string) func(args []string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(commands, func(c string) bool {
			return strings.EqualFold(c, args[0])
		})
	}
}

// RuleHandle is a rule in force.
type RuleHandle struct {
	p     *Proxy
	rule  Rule
	chaos *chaos // nil unless the action is drawn for each request

	resumed    chan struct{} // closed by Resume
	resumeOnce sync.Once

	// Guarded by p.mu.
	seen int // requests picked
	hits int // requests acted on
	held []*held
}

// Add puts a rule in force. Rules are asked in the order in which they were
// added; the first that acts on a request ends the search.
func (p *Proxy) Add(r Rule) *RuleHandle { return p.add(r, nil) }

func (p *Proxy) add(r Rule, c *chaos) *RuleHandle {
	h := &RuleHandle{p: p, rule: r, chaos: c, resumed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, h)
	return h
}

// Hits is how many requests the rule has acted on. A request counts from its
// arrival at the proxy; its action may still be under way.
func (h *RuleHandle) Hits() int {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	return h.hits
}

// Remove ends the rule. What it has begun to do to a request goes on.
func (h *RuleHandle) Remove() {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	h.p.rules = slices.DeleteFunc(h.p.rules, func(r *RuleHandle) bool { return r == h })
}

// Resume sends on what [StallRequest] has stopped, and stops nothing more. It may be called
// again.
func (h *RuleHandle) Resume() { h.resumeOnce.Do(func() { close(h.resumed) }) }

// decide counts a request and finds what is to be done with it.
func (p *Proxy) decide(class Class, args []string) (Action, *RuleHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[strings.ToUpper(args[0])]++
	for _, h := range p.rules {
		if a, ok := h.pickLocked(class, args); ok {
			return a, h
		}
	}
	return Action{}, nil
}

func (h *RuleHandle) pickLocked(class Class, args []string) (Action, bool) {
	r := h.rule
	if r.Class != Any && r.Class != class || r.Match != nil && !r.Match(args) {
		return Action{}, false
	}
	h.seen++
	if h.seen <= r.Skip || r.Times > 0 && h.hits >= r.Times {
		return Action{}, false
	}
	a := r.Action
	if h.chaos != nil {
		var ok bool
		if a, ok = h.chaos.draw(); !ok {
			return Action{}, false
		}
	}
	h.hits++
	return a, true
}

// Commands is how many requests with this command name the clients have sent,
// in any case and whatever became of them.
func (p *Proxy) Commands(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[strings.ToUpper(name)]
}

func (p *Proxy) count(command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[strings.ToUpper(command)]++
}

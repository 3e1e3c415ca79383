package pubsub_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/hashslot"
)

// fakeNode is a cluster's node, as far as subscriptions go, in a bubble.
type fakeNode struct {
	c      *fakeCluster
	client *redis.Client

	// Guarded by fakeCluster.mu.
	peers    map[*peer]bool
	dials    int
	commands []string // without those of the handshake
	dead     bool     // refuses connections
	old      bool     // knows no sharded pub/sub
	replica  bool     // serves every slot to whoever asks
	refuse   string   // the answer to SSUBSCRIBE, if not empty
	refuseUn string   // the answer to SUNSUBSCRIBE, if not empty
	probe    string   // the answer to PUBSUB, if not empty
	mute     bool     // takes SSUBSCRIBE and does not answer yet
	held     []func() // what is answered when it is not mute any more
}

func newFakeNode(c *fakeCluster, addr string) *fakeNode {
	n := &fakeNode{c: c, peers: make(map[*peer]bool)}
	n.client = n.newClient(addr)
	return n
}

func (n *fakeNode) newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Dialer: n.dial, MaxRetries: -1})
}

func (n *fakeNode) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p := &peer{n: n, conn: far, sharded: map[string]bool{}, plain: map[string]bool{}, written: make(chan struct{}, 1)}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.dials++
	if n.dead {
		return nil, errRefused
	}
	n.peers[p] = true
	go p.write()
	go p.read()
	return near, nil
}

// peer is one connection of a node.
type peer struct {
	n    *fakeNode
	conn net.Conn

	// Guarded by fakeCluster.mu.
	sharded, plain map[string]bool
	out            bytes.Buffer
	closed         bool

	written chan struct{}
}

// write sends what is in out, so that nobody waits for the other side to read.
func (p *peer) write() {
	for range p.written {
		p.n.c.mu.Lock()
		data := bytes.Clone(p.out.Bytes())
		p.out.Reset()
		p.n.c.mu.Unlock()
		_, _ = p.conn.Write(data) // the reader sees that the connection is closed
	}
}

func (p *peer) read() {
	rd := bufio.NewReader(p.conn)
	for {
		args, err := readCommand(rd)
		p.n.c.mu.Lock()
		if err != nil {
			delete(p.n.peers, p)
			p.closed = true
			close(p.written)
			p.n.c.mu.Unlock()
			p.conn.Close()
			return
		}
		p.serve(strings.ToUpper(args[0]), args[1:])
		p.n.c.mu.Unlock()
	}
}

// reply queues an answer or a push.
func (p *peer) reply(format string, args ...any) {
	if p.closed {
		return
	}
	fmt.Fprintf(&p.out, format, args...)
	select {
	case p.written <- struct{}{}:
	default:
	}
}

func (p *peer) push(kind, channel, payload string) {
	third := ":1\r\n"
	if payload != "" {
		third = fmt.Sprintf("$%d\r\n%s\r\n", len(payload), payload)
	}
	p.reply("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n%s", len(kind), kind, len(channel), channel, third)
}

func (p *peer) serve(name string, args []string) {
	n := p.n
	switch name {
	case "PUBSUB", "SSUBSCRIBE", "SUNSUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE", "PING":
		n.commands = append(n.commands, strings.Join(append([]string{name}, args...), " "))
	}
	switch {
	case name == "PING":
		p.reply("*2\r\n$4\r\npong\r\n$0\r\n\r\n")
	case name == "PUBSUB" && n.probe != "":
		p.reply("-%s\r\n", n.probe)
	case name == "PUBSUB" && !n.old:
		p.reply("*2\r\n$1\r\n0\r\n:0\r\n")
	case name == "PUBSUB":
		p.reply("-ERR Unknown subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB HELP.\r\n")
	case name == "SUBSCRIBE":
		for _, channel := range args {
			p.plain[channel] = true
			p.push("subscribe", channel, "")
		}
	case name == "UNSUBSCRIBE":
		for _, channel := range args {
			delete(p.plain, channel)
			p.push("unsubscribe", channel, "")
		}
	case (name == "SSUBSCRIBE" || name == "SUNSUBSCRIBE") && n.mute:
		n.held = append(n.held, func() { p.serveSharded(name == "SSUBSCRIBE", args) })
	case (name == "SSUBSCRIBE" || name == "SUNSUBSCRIBE") && !n.old:
		p.serveSharded(name == "SSUBSCRIBE", args)
	default:
		p.reply("-ERR unknown command '%s', with args beginning with:\r\n", strings.ToLower(name))
	}
}

func (p *peer) serveSharded(subscribe bool, channels []string) {
	n := p.n
	slot := hashslot.Of(channels[0])
	for _, channel := range channels {
		if hashslot.Of(channel) != slot {
			p.reply("-CROSSSLOT Keys in request don't hash to the same slot\r\n")
			return
		}
	}
	switch owner := n.c.owner(slot); {
	case !subscribe && n.refuseUn != "":
		p.reply("-%s\r\n", n.refuseUn)
	case subscribe && n.refuse != "":
		p.reply("-%s\r\n", n.refuse)
	case n.replica:
		p.confirm(subscribe, channels)
	case owner == nil:
		p.reply("-CLUSTERDOWN Hash slot not served\r\n")
	case owner != n:
		p.reply("-MOVED %d %s\r\n", slot, owner.client.Options().Addr)
	default:
		p.confirm(subscribe, channels)
	}
}

func (p *peer) confirm(subscribe bool, channels []string) {
	for _, channel := range channels {
		if subscribe {
			p.sharded[channel] = true
			p.push("ssubscribe", channel, "")
		} else {
			delete(p.sharded, channel)
			p.push("sunsubscribe", channel, "")
		}
	}
}

// drop ends the subscriptions in a slot, as a node does that serves it no longer.
func (n *fakeNode) drop(slot int) {
	for p := range n.peers {
		for _, channel := range slices.Sorted(maps.Keys(p.sharded)) {
			if hashslot.Of(channel) == slot {
				delete(p.sharded, channel)
				p.push("sunsubscribe", channel, "")
			}
		}
	}
}

// kill cuts all connections, and refuses new ones until revive.
func (n *fakeNode) kill() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.dead = true
	n.cutLocked()
}

func (n *fakeNode) cut() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.cutLocked()
}

func (n *fakeNode) cutLocked() {
	for p := range n.peers {
		p.conn.Close()
	}
}

// speak answers what was held back.
func (n *fakeNode) speak() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.mute = false
	for _, answer := range n.held {
		answer()
	}
	n.held = nil
}

// set changes how the node behaves.
func (n *fakeNode) set(f func(n *fakeNode)) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	f(n)
}

// took returns the commands since the last call.
func (n *fakeNode) took() []string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	commands := n.commands
	n.commands = nil
	return commands
}

// count tells how many of the commands since the last call have this name.
func (n *fakeNode) count(name string) int {
	count := 0
	for _, command := range n.took() {
		if command == name || strings.HasPrefix(command, name+" ") {
			count++
		}
	}
	return count
}

// subscribers counts the connections that listen to anything.
func (n *fakeNode) subscribers() int {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	count := 0
	for p := range n.peers {
		if len(p.sharded)+len(p.plain) > 0 {
			count++
		}
	}
	return count
}

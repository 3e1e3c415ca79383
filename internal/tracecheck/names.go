package tracecheck

import (
	"cmp"
	"fmt"
	"slices"
)

// names gives clients and their owners the names that they have in the model. The n-th command of a client is number n there.
type names struct {
	clients map[string]string
	owners  map[string]string  // by field
	inUse   map[string]int     // owners of a client
	numbers map[string][]int64 // of a client, in order
	first   map[command]int    // the first entry of a command
	nonces  map[string]command // of attempts
	order   []string           // clients, in the order of the trace
}

type command struct {
	client string
	number int64
}

func newNames(entries []Entry) *names {
	n := &names{
		clients: make(map[string]string), owners: make(map[string]string), inUse: make(map[string]int),
		numbers: make(map[string][]int64), first: make(map[command]int), nonces: make(map[string]command),
	}
	for i := range entries {
		n.meet(&entries[i])
		n.note(&entries[i], i)
	}
	for _, numbers := range n.numbers {
		slices.SortFunc(numbers, cmp.Compare[int64])
	}
	return n
}

// meet names the clients and owners of an entry.
func (n *names) meet(e *Entry) {
	n.client(e.Client)
	for _, field := range append([]string{e.Owner, e.Next}, e.Owners...) {
		n.owner(field)
	}
	if p := e.Passed; p != nil {
		for _, client := range append([]string{p.To}, p.Popped...) {
			n.client(client)
		}
		n.owner(p.Owner)
	}
	if e.Turn != nil && e.Turn.Client != "*" {
		n.client(e.Turn.Client)
	}
}

// note collects the number and the nonce of the i-th entry.
func (n *names) note(e *Entry, i int) {
	c := command{e.Client, e.Number}
	if _, again := n.first[c]; again || !e.numbered() {
		return
	}
	n.first[c] = i
	n.numbers[e.Client] = append(n.numbers[e.Client], e.Number)
	if e.Nonce != "" {
		n.nonces[e.Nonce] = c
	}
}

// client is the client's name in the model; empty for none.
func (n *names) client(id string) string {
	if id == "" {
		return ""
	}
	if n.clients[id] == "" {
		n.order = append(n.order, id)
		n.clients[id] = fmt.Sprintf("c%d", len(n.order))
	}
	return n.clients[id]
}

func (n *names) owner(field string) string {
	if field == "" {
		return ""
	}
	if n.owners[field] == "" {
		c := n.client(clientOf(field))
		n.inUse[c]++
		n.owners[field] = fmt.Sprintf("o%d", n.inUse[c])
	}
	return n.owners[field]
}

// number is the command's place among those of its client; 0 if there is none.
func (n *names) number(client string, number int64) int {
	if number == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(n.numbers[client], number)
	return i + 1
}

// nonce is the number of the attempt that had that nonce; 0: none of the trace.
func (n *names) nonce(nonce string) int {
	c, found := n.nonces[nonce]
	if !found {
		return 0
	}
	return n.number(c.client, c.number)
}

// late reports whether a command ran after a later one of its client, which had given it up.
func (n *names) late(c command) bool {
	numbers := n.numbers[c.client]
	i, _ := slices.BinarySearch(numbers, c.number)
	return slices.ContainsFunc(numbers[i+1:], func(later int64) bool { return n.first[command{c.client, later}] < n.first[c] })
}

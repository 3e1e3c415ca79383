package tracecheck

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// writeModule writes the traces as the module that spec/Trace.tla extends.
func writeModule(w io.Writer, traces []*Trace) error {
	clients, owners := map[string]bool{}, map[string]bool{}
	var all []string
	for _, t := range traces {
		n := newNames(t.Entries)
		all = append(all, writeTrace(n, t))
		for _, c := range n.clients {
			clients[c] = true
		}
		for _, o := range n.owners {
			owners[o] = true
		}
	}
	_, err := fmt.Fprintf(w, "---- MODULE TraceData ----\nEXTENDS Naturals\nTraceClients == %s\nTraceOwners == %s\nTraces == <<\n%s>>\n====\n",
		texts(slices.Sorted(maps.Keys(clients))), texts(slices.Sorted(maps.Keys(owners))), strings.Join(all, ",\n"))
	return err
}

func writeTrace(n *names, t *Trace) string {
	var entries, commands []string
	for i := range t.Entries {
		entries = append(entries, n.entry(&t.Entries[i], i))
	}
	for _, id := range n.order {
		var its []string
		for _, number := range n.numbers[id] {
			c := command{id, number}
			its = append(its, n.command(&t.Entries[n.first[c]], n.late(c)))
		}
		commands = append(commands, fmt.Sprintf("%s |-> <<%s>>", n.clients[id], strings.Join(its, ", ")))
	}
	return fmt.Sprintf("[entries |-> <<\n%s>>,\n commands |-> [%s]]", strings.Join(entries, ",\n"), strings.Join(commands, ",\n  "))
}

// command is what the model has to know when the client sends the command, before Redis executes it.
func (n *names) command(e *Entry, late bool) string {
	return fmt.Sprintf("[kind |-> %q, o |-> %q, p |-> %q, owners |-> %s, e |-> %s, asks |-> %s, late |-> %s]",
		e.Kind, n.owner(e.Owner), n.owner(e.Next), n.fields(e.Owners), boolean(e.Epoch), boolean(e.Asks), boolean(late))
}

func (n *names) entry(e *Entry, i int) string {
	passed, turn := e.Passed, e.Turn
	if passed == nil {
		passed = &Passing{}
	}
	if turn == nil {
		turn = &Turn{Client: "same"}
	}
	keeper := turn.Client
	if keeper != "same" && keeper != "*" {
		keeper = n.client(keeper)
	}
	var popped []string
	for _, client := range passed.Popped {
		popped = append(popped, n.client(client))
	}
	first, numbered := n.first[command{e.Client, e.Number}]
	return fmt.Sprintf("[at |-> %d, since |-> %d, kind |-> %q, out |-> %q, c |-> %q, n |-> %d, o |-> %q, p |-> %q, owners |-> %s, e |-> %s, lease |-> %d, claim |-> %d, "+
		"theirs |-> %s, stood |-> %s, again |-> %s, passed |-> %s, popped |-> %s, to |-> %q, for |-> %q, nonce |-> %d, turn |-> %q, keeps |-> %d]",
		e.At, e.Since, e.Kind, e.Outcome, n.client(e.Client), n.number(e.Client, e.Number), n.owner(e.Owner), n.owner(e.Next), n.fields(e.Owners), boolean(e.Epoch), e.Lease, e.Claim,
		boolean(e.Theirs), boolean(e.Stood), boolean(numbered && e.numbered() && first != i), boolean(e.Passed != nil), texts(popped), n.client(passed.To), n.owner(passed.Owner),
		n.nonce(passed.Nonce), keeper, turn.For)
}

func (n *names) fields(fields []string) string {
	var owners []string
	for _, field := range fields {
		owners = append(owners, n.owner(field))
	}
	return texts(owners)
}

func texts(elements []string) string {
	quoted := make([]string, len(elements))
	for i, element := range elements {
		quoted[i] = fmt.Sprintf("%q", element)
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}

func boolean(b bool) string { return strings.ToUpper(fmt.Sprint(b)) }

package redlatchotel

import "strings"

const (
	maxGroups = 100
	other     = "other"
)

// BeforeColon is for [WithGroup]: it returns what stands before the first colon of a lock's name, "order"
// of "order:42", and the whole name if it has no colon.
func BeforeColon(name string) string {
	group, _, _ := strings.Cut(name, ":")
	return group
}

// groups bounds how many groups there are: a function that returns the names themselves must not make a
// series of each.
type groups struct {
	of    func(name string) string // nil: locks have no group
	known table[string, string]
}

// group is the group of a lock, and empty if locks have none.
func (g *groups) group(name string) string {
	if g.of == nil {
		return ""
	}
	group := g.of(name)
	if group == "" {
		return other
	}
	if known, found := g.known.get(group); found {
		return known
	}
	// The clone does not keep the name alive of which the group is a part.
	return g.known.add(strings.Clone(group), maxGroups, func(group string) string { return group }, other)
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// marks draws an actor's events as dots, and their names where there is room for them.
// All of them have a title, which a browser shows under the pointer.
func (c *canvas) marks(rec *recording, who string, y int) {
	var events []event
	for _, e := range rec.events {
		if e.who == who && e.effect != try {
			events = append(events, e)
		}
	}
	for _, e := range events {
		fmt.Fprintf(c, `<circle class="e" cx="%.1f" cy="%d" r="2"><title>%s ms, %s: %s</title></circle>`,
			c.x(e.at), y+lane-bar-3, ms(e.at), escape(e.who), escape(label(e)))
	}
	c.WriteByte('\n')
	// The important ones choose their place first.
	slices.SortStableFunc(events, func(a, b event) int { return rank(b) - rank(a) })
	var taken [2][]span
	for _, e := range events {
		c.name(e, y, &taken)
	}
}

func rank(e event) int {
	switch e.effect {
	case grave:
		return 2
	case took, freed, removed:
		return 1
	}
	return 0
}

// span is a part of a row of names.
type span struct{ from, to float64 }

// name writes an event's name right of its dot, or left of it at the picture's edge, in
// one of two rows; or nowhere.
func (c *canvas) name(e event, y int, taken *[2][]span) {
	text := label(e)
	size := 5.1*float64(len(text)) + 6
	for row := range taken {
		for _, anchor := range []string{"start", "end"} {
			s := span{c.x(e.at) - 2, c.x(e.at) + size}
			if anchor == "end" {
				s = span{c.x(e.at) - size, c.x(e.at) + 2}
			}
			free := !slices.ContainsFunc(taken[row], func(t span) bool { return s.from < t.to && t.from < s.to })
			if !free || s.to > right+6 || s.from < left-2 {
				continue
			}
			taken[row] = append(taken[row], s)
			at := fmt.Sprintf(`x="%.1f"`, s.from+2)
			if anchor == "end" {
				at = fmt.Sprintf(`x="%.1f" text-anchor="end"`, s.to-2)
			}
			fmt.Fprintf(c, `<text class="l" %s y="%d">%s</text>`+"\n", at, y+20-11*row, escape(text))
			return
		}
	}
}

// label is an event in short.
func label(e event) string {
	if e.came == "" {
		return e.what
	}
	came, _, _ := strings.Cut(e.came, ":") // what it means is for the terminal
	return e.what + ": " + came
}

// key draws a server's lane: the lives of the key, each as high as its TTL.
func (c *canvas) key(rec *recording, t *track, lease time.Duration) {
	base := c.y + keyLane - 2
	c.text(12, base-4, "m", t.server)
	end := t.until
	if end == 0 {
		end = rec.length
	}
	for _, l := range t.lives() {
		to := min(l.to, end)
		if l.looks[0].ttl < 0 {
			c.rect("for", l.from, to, c.y+4, keyLane-6)
		} else {
			fmt.Fprintf(c, `<path class="key" d="M%.1f %d`, c.x(l.from), base)
			for _, k := range corners(l.looks) {
				height := float64(keyLane-6) * min(float64(k.ttl)/float64(rec.t(lease)), 1)
				fmt.Fprintf(c, "L%.1f %.0f", c.x(k.at), float64(base)-height)
			}
			fmt.Fprintf(c, `L%.1f %dz"/>`+"\n", c.x(to), base)
		}
		if name := whose(l.holder); c.x(to)-c.x(l.from) > 6*float64(len(name)) {
			c.text(int(c.x(l.from))+3, base-3, "l", name)
		}
	}
	if t.until > 0 {
		c.text(int(c.x(t.until))+3, base-4, "m", "lost")
	}
	for _, e := range rec.events {
		if e.who == t.server {
			fmt.Fprintf(c, `<circle class="e" cx="%.1f" cy="%d" r="2"><title>%s ms, %s: %s</title></circle>`,
				c.x(e.at), base-6, ms(e.at), escape(e.who), escape(label(e)))
			c.text(int(c.x(e.at))-58, base-3, "l", e.what)
		}
	}
	c.y += keyLane
}

// corners are the looks at which the TTL does not simply run down.
func corners(looks []look) (some []look) {
	for i, l := range looks {
		last := i == len(looks)-1
		if i == 0 || last || l.ttl > looks[i-1].ttl+every || looks[i+1].ttl > l.ttl+every {
			some = append(some, l)
		}
	}
	return some
}

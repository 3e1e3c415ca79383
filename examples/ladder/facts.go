package main

import (
	"fmt"
	"time"
)

// overlap is a time during which two processes were inside.
type overlap struct {
	a, b     string
	from, to time.Duration
}

func (o overlap) length() time.Duration { return o.to - o.from }

func (o overlap) String() string {
	return fmt.Sprintf("%s and %s were both inside from %s to %s ms", o.a, o.b, ms(o.from), ms(o.to))
}

// overlaps are all of them. Two actors of one process may both be inside.
func (r *recording) overlaps() (all []overlap) {
	for i, a := range r.sections {
		for _, b := range r.sections[i+1:] {
			o := overlap{a: a.who, b: b.who, from: max(a.from, b.from), to: min(a.to, b.to)}
			if r.ownerOf(a.who) != r.ownerOf(b.who) && o.from < o.to {
				all = append(all, o)
			}
		}
	}
	return all
}

// stay is the first time that somebody was inside; ok is false if nobody of that name was.
func (r *recording) stay(who string) (s section, ok bool) {
	for _, s := range r.sections {
		if s.who == who {
			return s, true
		}
	}
	return section{}, false
}

// inside reports whether an actor was inside at that time.
func (r *recording) inside(who string, at time.Duration) bool {
	for _, s := range r.sections {
		if s.who == who && s.from <= at && at < s.to {
			return true
		}
	}
	return false
}

// theft is a key that was removed by an actor while it was another's.
type theft struct {
	thief, victim string
	at            time.Duration
}

// thefts are the keys that were removed, unseen, by somebody else than the one who took
// them last, while that one was inside.
func (r *recording) thefts() (all []theft) {
	holder := ""
	for _, e := range r.events {
		switch e.effect {
		case took:
			holder = e.who
		case removed:
			if holder != e.who && r.inside(holder, e.at) {
				all = append(all, theft{thief: e.who, victim: holder, at: e.at})
			}
		}
	}
	return all
}

// when is the time of the first such event, -1 if there was none.
func (r *recording) when(who, what string) time.Duration {
	for _, e := range r.events {
		if e.who == who && e.what == what {
			return e.at
		}
	}
	return -1
}

// tries is how often an actor asked in vain.
func (r *recording) tries(who string) (n int) {
	for _, e := range r.events {
		if e.who == who && e.effect == try {
			n++
		}
	}
	return n
}

// ms prints a time in milliseconds, without the unit.
func ms(d time.Duration) string {
	if d < 10*time.Millisecond && d%time.Millisecond != 0 {
		return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000)
	}
	return fmt.Sprint(d.Round(time.Millisecond).Milliseconds())
}

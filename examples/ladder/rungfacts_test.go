package main

import (
	"errors"
	"fmt"
	"slices"
)

// facts look at the recordings, by rung and act, without the judges' help.
var facts = map[string]func(*recording) error{
	"1a": all(noneInside("anna", "bert"), func(r *recording) error {
		looks := r.tracks[0].looks
		if last := looks[len(looks)-1]; last.holder == "" || last.ttl >= 0 || r.length < 2*lease {
			return fmt.Errorf("the key at the end, after %v: %+v", r.length, last)
		}
		return nil
	}),
	"1b": all(apart, inTurn("bert"), kept("bert")),
	"2a": all(stolen, inTurn("anna", "bert", "carl")),
	"2b": all(apart, inTurn("anna", "bert", "carl"), kept("bert"), kept("carl"), says("anna", "Release", "ErrLost: nothing of anybody else's is freed")),
	"3a": all(stolen, inTurn("anna", "bert", "carl"), says("anna", "GET", "it is hers")),
	"3b": all(apart, inTurn("anna", "bert", "carl"), kept("bert"), kept("carl"), says("anna", "Release", "ErrLost: nothing of anybody else's is freed")),
	"4a": all(bothInside("anna", "bert"), says("anna", "EVAL GET, DEL", "0")),
	"4b": all(apart, inTurn("anna", "bert"), kept("anna"), kept("bert"), renewed),
	"5a": all(noneInside("book"), renewed),
	"5b": func(r *recording) error {
		outer, _ := r.stay("settle")
		inner, in := r.stay("book")
		if !in || inner.from < outer.from || inner.to > outer.to {
			return fmt.Errorf("settle was inside %v, book %v", outer, inner)
		}
		return nil
	},
	"6a": all(apart, inTurn("anna", "bert"), kept("bert"), sent(int(busy/often), 1000)),
	"6b": all(apart, inTurn("anna", "bert"), kept("bert"), sent(int(busy/seldom), tooOften)),
	"6c": all(apart, inTurn("anna", "bert"), kept("anna"), kept("bert"), sent(4, tooOften)),
	"7a": all(bothInside("anna", "bert"), neverTold("anna")),
	"7b": all(bothInside("anna", "bert"), says("anna", "ctx ends", "ErrLost"), refusedWrite),
	"7c": all(apart, noneInside("anna", "bert")),
	"7d": all(apart, inTurn("anna", "bert"), func(r *recording) error {
		hers, _ := r.stay("anna")
		if failover := r.failover(); failover < hers.from || hers.to < failover+lease {
			return fmt.Errorf("the failover at %v was not far enough within anna's stay, %v", failover, hers)
		}
		return nil
	}),
}

func all(checks ...func(*recording) error) func(*recording) error {
	return func(r *recording) error {
		var errs []error
		for _, check := range checks {
			errs = append(errs, check(r))
		}
		return errors.Join(errs...)
	}
}

// apart: no two stays share an instant.
func apart(r *recording) error {
	sorted := slices.Clone(r.sections)
	slices.SortFunc(sorted, func(a, b section) int { return int(a.from - b.from) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].from < sorted[i-1].to {
			return fmt.Errorf("two at once: %v and %v", sorted[i-1], sorted[i])
		}
	}
	return nil
}

// kept: whenever the onlooker looked while that actor was inside, the key was there and
// was the actor's.
func kept(who string) func(*recording) error {
	return func(r *recording) error {
		stay, _ := r.stay(who)
		n := 0
		for _, l := range r.tracks[0].looks {
			if l.asked < stay.from || l.at > stay.to {
				continue
			}
			if n++; l.holder != who {
				return fmt.Errorf("%s was inside %v, and the key %+v", who, stay, l)
			}
		}
		if n == 0 && r.stall < r.t(work/2) { // otherwise there was no time to look
			return fmt.Errorf("nobody looked while %s was inside", who)
		}
		return nil
	}
}

// stolen: anna freed bert's lock while he was inside, and carl came in to him.
func stolen(r *recording) error {
	thefts := r.thefts()
	if len(thefts) != 1 || thefts[0].thief != "anna" || thefts[0].victim != "bert" {
		return fmt.Errorf("thefts: %v", thefts)
	}
	return bothInside("bert", "carl")(r)
}

// bothInside: two were inside at the same time.
func bothInside(first, second string) func(*recording) error {
	return func(r *recording) error {
		a, aIn := r.stay(first)
		b, bIn := r.stay(second)
		if !aIn || !bIn || b.from < a.from || b.from >= a.to {
			return fmt.Errorf("%s inside %v, %s inside %v", first, a, second, b)
		}
		return nil
	}
}

// inTurn: they came in, in this order, and nobody else did.
func inTurn(who ...string) func(*recording) error {
	return func(r *recording) error {
		var came []string
		for _, s := range r.sections {
			came = append(came, s.who)
		}
		if !slices.Equal(came, who) {
			return fmt.Errorf("inside were %v, want %v", came, who)
		}
		return nil
	}
}

func noneInside(who ...string) func(*recording) error {
	return func(r *recording) error {
		for _, w := range who {
			if s, in := r.stay(w); in {
				return fmt.Errorf("%s was inside: %v", w, s)
			}
		}
		return nil
	}
}

// says: this event is in the recording, once.
func says(who, what, came string) func(*recording) error {
	return func(r *recording) error {
		n := 0
		for _, e := range r.events {
			if e.who == who && e.what == what && e.came == came {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d times %s: %s %s", n, who, what, came)
		}
		return nil
	}
}

func neverTold(who string) func(*recording) error {
	return func(r *recording) error {
		if r.when(who, "ctx ends") >= 0 {
			return fmt.Errorf("%s was told", who)
		}
		return nil
	}
}

func refusedWrite(r *recording) error {
	hers, _ := r.stay("anna")
	his, _ := r.stay("bert")
	for _, e := range r.events {
		if e.who == "anna" && e.what == "write" {
			if e.effect != grave || e.at < his.from || e.at > hers.to {
				return fmt.Errorf("anna's write: %v", e)
			}
			return nil
		}
	}
	return errors.New("anna did not write")
}

// renewed: the first holder's TTL was raised.
func renewed(r *recording) error {
	if l := r.tracks[0].lives(); len(l) == 0 || l[0].raised() == 0 {
		return errors.New("never renewed")
	}
	return nil
}

// sent: bert sent so many commands.
func sent(least, most int) func(*recording) error {
	return func(r *recording) error {
		if n := r.facts["commands"]; n < least || n > most {
			return fmt.Errorf("bert sent %d commands, want %d to %d", n, least, most)
		}
		return nil
	}
}

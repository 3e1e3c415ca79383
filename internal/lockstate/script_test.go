package lockstate

import (
	"strconv"
	"strings"
	"time"
)

// do carries out one input.
//
//	config never|confirmed|write-behind [replicas=1] [maxhold=1m]
//	wait 5s                    the clock goes on
//	enter a [fixed=10s] [shared] [single] [handle] [fencing]
//	attempt a                  a's attempt is about to be sent
//	granted a [late=1m] [missing]; busy a [registered]; failed a [unknown] [registers]; and hear a: what its call makes of that
//	leave a                    a's call leaves
//	release a [after=1m]       one hold
//	next a                     who gets the lock of a, which is being released
//	transferred a b [others=1] [missing]; unanswered a b; freed a; not-ours a; unconfirmed a
//	lost a [overridden]        the watchdog reports a loss
//	unlock a                   an unlock by an owner that holds nothing
//	send a; settle a [failed] [not-ours]; leave-nested a [limit]; count a
//	sync; moved [failed] [before] [others=1]; one a
//	extend a 20s               sent and confirmed
//	close; abandon; left; over a
func (p *script) do(verb string, words options) {
	if verb != "config" && !p.begun {
		p.begun = true
		p.s.Init(&p.cfg, &p.e, false)
	}
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	for _, group := range []func(verb, name string, o options) bool{p.doEnter, p.doAnswer, p.doRelease, p.doNested, p.doField, p.doRest} {
		if group(verb, name, words) {
			return
		}
	}
	p.t.Fatalf("no input %q", verb)
}

func (p *script) doEnter(verb, name string, o options) bool {
	switch verb {
	case "enter":
		p.enter(name, o)
	case "attempt":
		p.say("%s", yes(p.s.BeginAttempt(p.waiters[name], p.now), "send the attempt", "it does not lead any more"))
	case "leave":
		switch w := p.waiters[name]; w.state {
		case Granted:
			send, last := p.s.GiveBack(w.ownership, w.HoldKind, p.now)
			p.say("%s", yes(last, "release it", yes(send, "send the count", "nothing to send")))
		default:
			p.s.Leave(w, p.now)
		}
	default:
		return false
	}
	return true
}

func (p *script) enter(name string, o options) {
	r := Request{Owner: strings.Trim(name, "0123456789"), Lease: p.cfg.Lease, Began: p.now, Single: o.has("single"), Fencing: o.has("fencing")}
	r.AnyCall = r.Owner != name
	if o.has("shared") {
		r.Mode = Shared
	}
	if lease := o.duration("fixed", 0); lease > 0 {
		r.Lease, r.Fixed = lease, true
	}
	r.Handle = o.has("handle")
	e := p.s.Enter(&r, nil, p.now)
	p.say("%s", [...]string{"wait", "enter again", "outdated", "refused: the loss is owed", "busy", "refused: the Client closes", "refused: upgrade"}[e.Kind])
	switch e.Kind {
	case Wait:
		w := &Waiter{Request: r}
		p.waiters[name] = w
		w.Call = &fakeCall{did: func(format string, args ...any) { p.say("%s "+format, append([]any{name}, args...)...) }}
		p.s.Enqueue(w)
	case Reenter:
		p.nested[name] = &Reentry{Of: e.Of, Kind: r.HoldKind, Lease: r.Lease}
	}
}

func yes(is bool, then, otherwise string) string {
	if is {
		return then
	}
	return otherwise
}

func (p *script) grant(o options) Grant {
	g := Grant{Sent: p.now.Add(-o.duration("took", 0))}
	if late := o.duration("late", 0); late > 0 {
		g.Late = p.now.Add(late)
	}
	if o.has("missing") {
		g.Missing = errReplicasMissing
	}
	return g
}

var refusals = [...]string{"granted", "to be released: the call has left", "to be released: the Client closes", "to be released: replicas are missing", "to be released: too late"}

func (p *script) doAnswer(verb, name string, o options) bool {
	w := p.waiters[name]
	switch verb {
	case "granted":
		of, refusal := p.s.Granted(w, p.grant(o), p.now)
		p.owned[name] = of
		p.say("%s", refusals[refusal])
	case "busy":
		p.s.FoundBusy(w, o.has("registered"), 7)
		w.KnewBusy()
	case "failed":
		p.s.AttemptFailed(w, o.has("unknown"), o.has("registers"), p.now)
	case "hear":
		f := Failure{Err: errSilent, Final: o.has("final"), Late: o.has("too-late"), Alone: o.has("final")}
		p.say("%s", yes(p.s.FailedAttempt(w, f, p.now), "the wait is over", "try again"))
	default:
		return false
	}
	return true
}

func (p *script) doRelease(verb, name string, o options) bool {
	of := p.owner(name)
	switch verb {
	case "release":
		h := &Hold{Kind: HoldKind{Handle: o.has("handle"), Fixed: o.has("fixed")}, After: o.duration("after", 0), Nobody: "nobody"}
		p.say("%s", [...]string{"free it, or hand it over", "send the count", "nothing to send", "it was lost", "refused: nested", "refused: none to take", "nothing to send, others share the lease"}[p.s.Release(of, h, p.now)])
	case "next":
		w := p.s.Next(of, p.now)
		p.say("%s", yes(w == nil, "free it", "hand it over"))
		if w != nil {
			p.out[len(p.out)-1] += " to " + p.nameOf(w)
		}
	case "transferred":
		next, refusal := p.s.Transferred(of, p.waiters[o[1]], p.grant(o), elsewhere(o), p.now)
		p.owned[o[1]] = next
		p.say("%s", refusals[refusal])
	case "unanswered":
		p.s.TransferUnanswered(p.waiters[o[1]], p.now)
		p.s.Released(of, Unanswered, p.now)
	case "freed":
		p.s.Released(of, Done, p.now)
	case "not-ours":
		p.say("%s", yes(p.s.Released(of, NotOurs, p.now), "it was lost before", "released"))
	case "unconfirmed":
		p.s.Released(of, Unanswered, p.now)
	default:
		return false
	}
	return true
}

func elsewhere(o options) (e Elsewhere) {
	if n, ok := o.value("others"); ok {
		e.Clients, _ = strconv.Atoi(n)
	}
	return e
}

// owner is the ownership of a call: of its owner, or the last that it had.
func (p *script) owner(name string) *Ownership {
	if o := p.s.Owner(strings.Trim(name, "0123456789")); o != nil {
		return o
	}
	return p.owned[name]
}

func (p *script) doNested(verb, name string, o options) bool {
	x := p.nested[name]
	switch verb {
	case "send":
		p.say("%s", yes(x.Send(p.now), "send "+strconv.Itoa(x.Count)+", lease "+x.Ask.String(), "do not send"))
	case "settle":
		p.say("%s", [...]string{"added", "not added: the call has left", "not added: it ended", "not added: it was lost", "not added: lost now", "not added"}[p.s.Settle(x, o.has("failed"), o.has("not-ours"), p.now)])
	case "leave-nested":
		p.say("%s", map[Entered]string{Interrupted: "without the hold", WasLost: "it was lost", Kept: "with the hold", Returned: "give it back"}[p.s.LeaveReentry(x, o.has("limit"))])
	case "count":
		n, live := p.s.SendCount(p.owner(name))
		p.say("%s", yes(live, "send "+strconv.Itoa(n), "do not send"))
	default:
		return false
	}
	return true
}

func (p *script) doField(verb, name string, o options) bool {
	switch verb {
	case "sync":
		next := p.s.NextSync(nil, p.now)
		p.move = &next.Move
		switch next.Step {
		case SendMove:
			p.say("send the move from %s to %s", next.Move.From, next.Move.To)
		case SendOne:
			p.say("send 1 for %s", next.Owner.owner)
		default:
			p.say("%s", yes(next.Step == Synced, "synced", "superseded"))
		}
	case "moved":
		p.s.Moved(p.move, o.has("failed"), o.has("before"), elsewhere(o), p.now)
	case "one":
		p.owner(name).CountIsOne()
	case "extend":
		x := &Extension{Of: p.owner(name), Lease: o.duration("to", 0)}
		p.say("send %d", x.Send(p.now))
		p.say("%s", yes(p.s.Extended(x, p.now), "extended", "lost"))
	default:
		return false
	}
	return true
}

func (p *script) doRest(verb, name string, o options) bool {
	switch verb {
	case "config":
		p.cfg.Handoff = map[string]Handoff{"never": Never, "confirmed": Confirmed, "write-behind": WriteBehind}[name]
		p.cfg.MaxHold = o.duration("maxhold", 0)
		if o.has("replicas=1") {
			p.cfg.Replicas = 1
		}
	case "wait":
		d, err := time.ParseDuration(name)
		if err != nil {
			p.t.Fatal(err)
		}
		p.now = p.now.Add(d)
		p.say("it is %s", at(p.now))
	case "renewed":
		watchOf(p.owner(name).lease).renewed(p.now, p.cfg.Lease)
	case "lost":
		why := LeaseEnded
		if o.has("overridden") {
			why = Overridden
		}
		if p.s.Lose(p.owner(name).lease, why, p.now) == nil {
			p.say("it had ended")
		}
	case "unlock":
		p.say("%s", yes(p.s.TakeLoss(name) != nil, "it was lost", "not held"))
	case "over":
		p.s.FixedLeaseOver(p.owned[name].lease, p.now)
	case "left":
		p.s.Left()
	case "close":
		p.s.Close()
	case "abandon":
		p.say("%d abandoned", len(p.s.Abandon(p.now)))
	default:
		return false
	}
	return true
}

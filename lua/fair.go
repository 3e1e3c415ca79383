package lua

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// InLine is what a command about a fair lock says of the line.
type InLine struct {
	Ticket    string // of the waiter; empty: it does not wait
	Lined     bool   // Redis has confirmed that the ticket was in the line
	Wait      time.Duration
	Newcomers []string // of Transfer: tickets that are new in the line, in their order
	Wake      Wake
}

// TicketOf is the ticket of an owner's waiter. The number is another one for each wait of a client, and rises. It is the
// arrival in microseconds of Unix time by the client's clock, or a little later: so others can tell since when it waits, and
// neither a key nor a command is needed for that.
func TicketOf(owner string, number uint64) string {
	return owner + "#" + strconv.FormatUint(number, 10)
}

// fairKeys are the keys of most scripts of fair locks, and the token's with fencing.
func fairKeys(k *Keys, fencing bool) (keys []string, channel string) {
	n := k.several(epochs, queues, timeouts, line, channels)
	keys = append(make([]string, 0, 6), k.Lock, n[0], n[1], n[2], n[3])
	if fencing {
		keys = append(keys, k.Token())
	}
	return keys, n[4]
}

func (a *Acquire) fairLine(k *Keys) []any {
	keys, channel := fairKeys(k, a.Fencing)
	return append(fairAcquireScript.line(9, keys...), a.Owner, ms(a.Lease), a.Order.Number, ms(a.Order.Epoch),
		a.InLine.Ticket, flag(a.InLine.Lined), ms(a.InLine.Wait), channel, a.InLine.Wake.how)
}

// RunFair sends the command to a fair lock.
func (a Acquire) RunFair(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	g, err := acquired(fairAcquireScript.runLine(ctx, p, a.fairLine(k)))
	g.RedissonAhead, g.Since = g.Since == 1, 0
	return g, err
}

// RunFair hands a fair lock over, or frees it. The verdict is Done, PassedOn, NotHeld or Stale.
func (t Transfer) RunFair(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	keys, channel := fairKeys(k, t.Fencing)
	line := append(fairPassScript.line(10+len(t.InLine.Newcomers), keys...),
		t.From, t.Order.Number, ms(t.Order.Epoch), channel, t.Wake.how,
		t.To, ms(t.Lease), t.InLine.Ticket, flag(t.InLine.Lined), ms(t.InLine.Wait))
	for _, ticket := range t.InLine.Newcomers {
		line = append(line, ticket)
	}
	r, err := fairPassScript.runLine(ctx, p, line)
	if err != nil {
		return Granted{}, err
	}
	if number(r, 0) == 2 {
		return Granted{Verdict: PassedOn}, nil
	}
	return Granted{Verdict: verdict(number(r, 0)), Token: number(r, 1)}, nil
}

// RunFair frees a fair lock. The results are those of Run.
func (r Release) RunFair(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	keys, channel := fairKeys(k, false)
	reply, err := fairPassScript.run(ctx, p, keys, r.Owner, r.Order.Number, ms(r.Order.Epoch), channel, r.Wake.how)
	if err != nil {
		return 0, false, err
	}
	if v = verdict(number(reply, 0)); number(reply, 0) == 2 {
		v = Done
	}
	return v, r.Order.Epoch > 0 && v != Stale && number(reply, 1) == 0, nil
}

// LineUp puts waiters of a client into the line of a fair lock.
type LineUp struct {
	Client  string
	Order   Order
	Wait    time.Duration
	Refresh bool     // also put the scores right
	Old     []string // tickets that Redis has confirmed, in their order: they come back if they were dropped
	New     []string // tickets, in their order
}

// Run sends the command. dropped is how many of Old were not in the line.
func (l LineUp) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, dropped int, err error) {
	keys, _ := fairKeys(k, false)
	line := append(fairLineScript.line(5+len(l.Old)+len(l.New), keys...),
		l.Client, l.Order.Number, ms(l.Order.Epoch), ms(l.Wait), flag(l.Refresh))
	for _, ticket := range l.Old {
		line = append(line, "="+ticket)
	}
	for _, ticket := range l.New {
		line = append(line, "+"+ticket)
	}
	r, err := fairLineScript.runLine(ctx, p, line)
	if err != nil {
		return 0, 0, err
	}
	return verdict(number(r, 0)), int(number(r, 1)), nil
}

// LeaveLine takes tickets out of the line of a fair lock.
type LeaveLine struct {
	Tickets []string
	Order   Order
	Wake    Wake
}

// Run sends the command. v is Done, or Stale.
func (l LeaveLine) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, err error) {
	keys, channel := fairKeys(k, false)
	args := append(make([]any, 0, 4+len(l.Tickets)), l.Order.Number, ms(l.Order.Epoch), channel, l.Wake.how)
	for _, ticket := range l.Tickets {
		args = append(args, ticket)
	}
	answer, err := fairLeaveScript.runNumber(ctx, p, keys, args...)
	if err != nil {
		return 0, err
	}
	return verdict(answer), nil
}

// ForceFair frees a fair lock from any holder, and reports whether there was a holder.
func ForceFair(ctx context.Context, p Processor, k *Keys, w Wake, holder string) (bool, error) {
	n := k.several(queues, timeouts, line, channels)
	freed, err := fairForceScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2]}, only(holder, n[3], w.how)...)
	return freed == 1, err
}

// RunFair leaves a fair lock to nobody. The results are those of Run.
func (l Linger) RunFair(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	code, err := fairLingerScript.runNumber(ctx, p, []string{k.Lock, k.Epoch(), k.Queue()},
		l.Owner, l.Nobody, ms(l.While), l.Order.Number, ms(l.Order.Epoch), k.Channel(), l.Wake.how)
	if err != nil {
		return 0, false, err
	}
	v = verdict(code)
	return v, l.Order.Epoch > 0 && v != Stale, nil
}

// ReadFairReport is [ReadReport] of a fair lock.
func ReadFairReport(ctx context.Context, p Processor, k *Keys, fencing bool) (Report, error) {
	keys := []string{k.Lock, k.Queue()}
	if fencing {
		keys = append(keys, k.Token())
	}
	reply, err := fairReportScript.run(ctx, p, keys)
	if err != nil {
		return Report{}, err
	}
	var r Report
	r.Token, _ = strconv.ParseInt(text(reply, 1), 10, 64)
	if left := number(reply, 0); left != -2 {
		r.TTL = ttl(left)
	}
	for owner, count := range pairs(reply, 2) {
		n, _ := strconv.Atoi(count)
		r.Fields = append(r.Fields, Field{Owner: owner, Count: n})
	}
	waiting, _ := reply[3].([]any)
	for i := range waiting {
		r.Line = append(r.Line, PlaceOf(text(waiting, i)))
	}
	return r, nil
}

// PlaceOf reads an element of the line: a ticket, or a thread of Redisson, which has no arrival.
func PlaceOf(element string) Place {
	end := strings.LastIndexByte(element, '#')
	if end < 0 {
		return Place{Owner: element}
	}
	number, err := strconv.ParseInt(element[end+1:], 10, 64)
	if err != nil || number < 0 {
		return Place{Owner: element}
	}
	return Place{Owner: element[:end], Arrival: time.UnixMicro(number)}
}

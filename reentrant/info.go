package reentrant

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// Info is what is known of a lock: Redis' answer, read at one instant, and the calls that wait in this
// Client. It may have changed by the time it is used. It is for people, logs and tests.
type Info struct {
	Name string
	Kind string    // "plain", "fair" or "read-write"
	At   time.Time // when Redis had answered

	Held   bool
	Holder Party
	Count  int           // holds of the holder
	TTL    time.Duration // as [Lock.TTL]: 0 when free, negative without an end

	// Kept says that no owner holds the lock: [Hold.ReleaseAfter] keeps it taken until the TTL ends.
	// Holder is the Client, without an owner.
	Kept bool

	// Mode says of a [ReadWriteLock] how it is held: "read" or "write", and empty when free. During a write the owners
	// that read are the writer.
	Mode string

	// Others are further fields in the lock's hash, at most 15: the other readers of a [ReadWriteLock]. In a
	// lock of another kind neither Redlatch nor Redisson makes any.
	Others []Party

	// Token is the last fencing token that was issued for this name: the holder's, if the holder's lock
	// has [WithFencing]. It is 0 if none was issued, or if the Redis user has no right to the counter.
	Token int64

	// Waiters are the calls that wait in this Client, and the other Clients of Redlatch that wait, by their arrival. If the
	// holder is in another Client, only that Client knows the calls that wait in it. Of a fair lock they are all calls that
	// wait in any Client, and all threads of Redisson, at most 128 of other Clients. They are in the order in which they are
	// to have the lock.
	Waiters []Waiter

	// Redisson is how many clients of Redisson wait, of which nothing else is known. It is -1 if Redis
	// cannot count them, and 0 for a fair lock: those are among the Waiters.
	Redisson int
}

// Waiter is a call, or another Client, that waits for a lock.
type Waiter struct {
	// Party has an owner only if it is Here, or the lock is fair. Of another Client Redis knows only that some call of it
	// waits. A Client registers when its first call has waited for a round trip or two.
	Party

	// Since is its arrival. It is never after Info.At.
	//   - A call of this Client: by this machine's clock.
	//   - Another Client: by Redis' clock, converted to this machine's.
	//   - A call of another Client that waits for a fair lock: by the clock of its machine, which may differ from this one's.
	//   - A thread of Redisson: zero, since Redis does not know it.
	Since time.Time
}

// String is one line for a person.
func (i Info) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: ", i.Name)
	left := "without an end"
	if i.TTL >= 0 {
		left = fmt.Sprintf("for %v more", i.TTL.Round(time.Millisecond))
	}
	switch {
	case !i.Held:
		s.WriteString("free")
	case i.Kept:
		fmt.Fprintf(&s, "released by %v, kept %s", i.Holder, left)
	default:
		fmt.Fprintf(&s, "held by %v, %s", i.Holder, left)
	}
	if i.Count > 1 {
		fmt.Fprintf(&s, ", %d holds", i.Count)
	}
	for _, other := range i.Others {
		fmt.Fprintf(&s, ", and %v", other)
	}
	if i.Token != 0 {
		fmt.Fprintf(&s, ", token %d", i.Token)
	}
	for n, w := range i.Waiters {
		if n == 0 {
			s.WriteString("; waiting: ")
		} else {
			s.WriteString(", ")
		}
		fmt.Fprint(&s, w.Party)
		if !w.Since.IsZero() {
			fmt.Fprintf(&s, " since %v", i.At.Sub(w.Since).Round(time.Millisecond))
		}
	}
	if i.Redisson > 0 {
		fmt.Fprintf(&s, "; %d of Redisson wait", i.Redisson)
	}
	return s.String()
}

// infoOf makes an Info of Redis' report and of the calls that wait in this Client.
func (l *Lock) infoOf(r lua.Report, local []Waiter, at time.Time) Info {
	i := Info{Name: l.name, Kind: l.kind.name, At: at, Mode: r.Mode, TTL: r.TTL, Token: r.Token, Redisson: r.RedissonWaiters, Waiters: local}
	for n, field := range l.split(r.Fields) {
		p, kept := l.partyOf(field.Owner)
		p.Here = p.From == FromGo && p.Client == l.c.id
		if n > 0 {
			i.Others = append(i.Others, p)
			continue
		}
		i.Held, i.Holder, i.Count, i.Kept = true, p, field.Count, kept
	}
	i.addWaiting(l.c.id, r.Waiting, false)
	i.addWaiting(l.c.id, r.Reading, true)
	if l.kind.lines {
		i.Waiters = l.inOrder(r.Line, local)
	}
	for n := range i.Waiters {
		if w := &i.Waiters[n]; w.Since.After(at) { // by a clock that is ahead, or of a call that came since
			w.Since = at
		}
	}
	return i
}

// maxParties is how many holders an Info has.
const maxParties = 16

// split puts the readers of this Client that share a field in its place.
func (l *Lock) split(fields []lua.Field) (all []lua.Field) {
	for _, f := range fields {
		if f.Owner != l.c.readersField {
			all = append(all, f)
			continue
		}
		here := l.readersHere()
		if len(here) == 0 {
			all = append(all, f) // their release is on its way
		}
		all = append(all, here...)
	}
	return all[:min(len(all), maxParties)]
}

// readersHere are the owners of this Client that read on a shared lease.
func (l *Lock) readersHere() (all []lua.Field) {
	s := l.c.findState(l)
	if s == nil {
		return nil
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.state.Readers() {
		all = append(all, lua.Field{Owner: o.Owner(), Count: o.Count()})
	}
	return all
}

// addWaiting adds the clients of a registry but this one, of which the calls are there one by one.
func (i *Info) addWaiting(this string, registered []lua.Waiting, reads bool) {
	for _, w := range registered {
		if w.Client != this {
			i.Waiters = append(i.Waiters, Waiter{Party: Party{From: FromGo, Client: w.Client, Reads: reads}, Since: i.At.Add(-w.For)})
		}
	}
}

// parties are all parties of an Info. The Client gives each its name.
func (i *Info) parties() (all []*Party) {
	if i.Held {
		all = append(all, &i.Holder)
	}
	for n := range i.Others {
		all = append(all, &i.Others[n])
	}
	for n := range i.Waiters {
		all = append(all, &i.Waiters[n].Party)
	}
	return all
}

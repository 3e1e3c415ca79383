package lua_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// places is what each place in the line adds to a score.
const places = 5 * time.Minute

// thread is a thread of Redisson as it stands in the line.
const thread = "6e5cd5a0-1111-4222-8333-123456789abc:17"

// fairClient sends the commands of a fair lock.
type fairClient struct{ *client }

func (r *rig) fair(id string) fairClient { return fairClient{r.client(id)} }

func (c fairClient) ticket(who string) string { return lua.TicketOf(c.owner(who), 1) }

// try is an attempt. inLine.Ticket is set unless the caller does not wait.
func (c fairClient) try(t *testing.T, who string, inLine lua.InLine, order lua.Order) lua.Granted {
	t.Helper()
	inLine.Wait, inLine.Wake = places, c.wake
	a := c.fill(lua.Acquire{Owner: who, Order: order})
	a.InLine = &inLine
	g, err := a.RunFair(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("acquire for %s:%s: %v", c.id, who, err)
	}
	return g
}

// lock is the attempt of a waiter.
func (c fairClient) lock(t *testing.T, who string) lua.Granted {
	t.Helper()
	return c.try(t, who, lua.InLine{Ticket: c.ticket(who)}, lua.Order{})
}

// again is the attempt of a waiter that was in the line.
func (c fairClient) again(t *testing.T, who string) lua.Granted {
	t.Helper()
	return c.try(t, who, lua.InLine{Ticket: c.ticket(who), Lined: true}, lua.Order{})
}

func (c fairClient) wantLocked(t *testing.T, who string) {
	t.Helper()
	wantVerdict(t, c.id+":"+who+" locks", c.lock(t, who).Verdict, lua.Done)
}

func (c fairClient) wantWaits(t *testing.T, who string) lua.Granted {
	t.Helper()
	g := c.lock(t, who)
	wantVerdict(t, c.id+":"+who+" waits", g.Verdict, lua.Busy)
	return g
}

func (c fairClient) unlock(t *testing.T, who string, order lua.Order) (lua.Verdict, bool) {
	t.Helper()
	v, set, err := lua.Release{Owner: c.owner(who), Order: c.order(order), Wake: c.wake}.RunFair(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	return v, set
}

func (c fairClient) wantUnlocked(t *testing.T, who string) {
	t.Helper()
	v, _ := c.unlock(t, who, lua.Order{})
	wantVerdict(t, "release by "+c.id+":"+who, v, lua.Done)
}

// hand hands the lock to the waiter of another owner, who has been in the line, or is one of the newcomers.
func (c fairClient) hand(t *testing.T, from, to string, order lua.Order, newcomers ...string) lua.Granted {
	t.Helper()
	inLine := lua.InLine{Ticket: c.ticket(to), Lined: !slices.Contains(newcomers, to), Wait: places}
	for _, who := range newcomers {
		inLine.Newcomers = append(inLine.Newcomers, c.ticket(who))
	}
	g, err := lua.Transfer{From: c.owner(from), To: c.owner(to), Lease: lease, Order: c.order(order), Wake: c.wake, InLine: &inLine}.RunFair(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("transfer: %v", err)
	}
	return g
}

func (c fairClient) lineUp(t *testing.T, refresh bool, old, added []string) int {
	t.Helper()
	l := lua.LineUp{Client: c.id, Order: c.next(), Wait: places, Refresh: refresh}
	for _, who := range old {
		l.Old = append(l.Old, c.ticket(who))
	}
	for _, who := range added {
		l.New = append(l.New, c.ticket(who))
	}
	v, dropped, err := l.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("line up: %v", err)
	}
	wantVerdict(t, "line up", v, lua.Done)
	return dropped
}

func (c fairClient) quit(t *testing.T, who ...string) {
	t.Helper()
	l := lua.LeaveLine{Order: c.next(), Wake: c.wake}
	for _, one := range who {
		l.Tickets = append(l.Tickets, c.ticket(one))
	}
	v, err := l.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("leave: %v", err)
	}
	wantVerdict(t, "leave", v, lua.Done)
}

// wantLine compares the line, list and sorted set.
func (r *rig) wantLine(t *testing.T, want ...string) {
	t.Helper()
	k := lua.KeysOf(name, "")
	if got := r.rdb.LRange(t.Context(), k.Queue(), 0, -1).Val(); !slices.Equal(got, want) {
		t.Fatalf("the line is %q, want %q", got, want)
	}
	got := r.rdb.ZRange(t.Context(), k.Timeouts(), 0, -1).Val()
	slices.Sort(got)
	if want = slices.Clone(want); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Fatalf("scores of %q, want of %q", got, want)
	}
}

// javaWaits puts a thread of Redisson into the line, as its script does.
func (r *rig) javaWaits(t *testing.T, element string, score time.Duration) {
	t.Helper()
	k, ctx := lua.KeysOf(name, ""), t.Context()
	r.rdb.RPush(ctx, k.Queue(), element)
	r.rdb.ZAdd(ctx, k.Timeouts(), redis.Z{Score: float64(time.Now().Add(score).UnixMilli()), Member: element})
}

// wantScore checks how far from now an element may be dropped by Redisson.
func (r *rig) wantScore(t *testing.T, element string, want time.Duration) {
	t.Helper()
	score := r.rdb.ZScore(t.Context(), lua.KeysOf(name, "").Timeouts(), element).Val()
	if got := time.Until(time.UnixMilli(int64(score))); (got - want).Abs() > slack {
		t.Fatalf("%s may be dropped in %v, want %v", element, got, want)
	}
}

// back sets the time at which the head was told into the past.
func (r *rig) back(t *testing.T, by time.Duration) {
	t.Helper()
	k, ctx := lua.KeysOf(name, ""), t.Context()
	told := r.rdb.HGet(ctx, k.Line(), "absent").Val()
	var since int64
	var rest string
	if n, _ := fmt.Sscanf(told, "%d %s", &since, &rest); n != 2 {
		t.Fatalf("nobody was told: %q", told)
	}
	digits := len(strconv.FormatInt(since, 10))
	r.rdb.HSet(ctx, k.Line(), "absent", strconv.FormatInt(since-by.Milliseconds(), 10)+told[digits:])
}

package faulttests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// go-redis resends what was not answered. A thousand small programs, each with its
// own sequence of lost requests and replies, must leave the count and the lock as
// if every command had run once.
func TestFault16And17And18LostReplies(t *testing.T) {
	t.Parallel()
	seeds := 1000
	if testing.Short() {
		seeds = 100
	}
	const workers = 16
	s := redistest.Start(t)
	var next atomic.Int64
	var stats lostReplyStats
	var group sync.WaitGroup
	for range workers {
		p := faultproxy.Start(t, s.Addr())
		through := func(o *redis.Options) { o.Addr = p.Addr() }
		patient, hasty := s.Client(t, through), s.Client(t, through, locktest.Impatience(50*time.Millisecond))
		clean := s.Client(t)
		group.Go(func() {
			for seed := next.Add(1); seed <= int64(seeds) && !t.Failed(); seed = next.Add(1) {
				l := &lostReplies{t: t, s: s, seed: uint64(seed), stats: &stats,
					rand: rand.New(rand.NewPCG(uint64(seed), 1)), name: "seed:" + strconv.FormatInt(seed, 10)}
				actions := []faultproxy.Action{faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.DropBefore}
				rdb := patient
				if seed%4 == 0 {
					actions = append(actions, faultproxy.SwallowReply, faultproxy.SwallowRequest)
					rdb = hasty
				}
				chaos := p.Chaos(uint64(seed), 0.3, anyScript, actions...)
				l.run(rdb, clean, chaos)
				chaos.Remove()
				stats.faults.Add(int64(chaos.Hits()))
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds, %d faults, %d holds, %d of the other client's, %d hand-offs, %d calls that failed, %d unlocks unconfirmed, %d renewals, %d losses",
		seeds, stats.faults.Load(), stats.holds.Load(), stats.others.Load(), stats.handedOver.Load(),
		stats.failed.Load(), stats.unconfirmed.Load(), stats.renewals.Load(), stats.losses.Load())
}

type lostReplyStats struct {
	faults, holds, others, handedOver, failed, unconfirmed, renewals, losses atomic.Int64
}

// lostReplies is the program of one seed.
type lostReplies struct {
	t     *testing.T
	s     *redistest.Server
	seed  uint64
	name  string
	rand  *rand.Rand
	stats *lostReplyStats
	hist  locktest.Tenures
	short bool   // the lease is short, and the hold is kept until it was renewed
	mine  string // write-behind: the ID of the Client that loses replies, whose field may be behind
}

func (l *lostReplies) run(through, clean redis.UniversalClient, chaos *faultproxy.RuleHandle) {
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	lease := 30 * time.Second
	if l.short = l.seed%8 == 1; l.short {
		lease = time.Second
	}
	behind := l.seed%3 == 0
	mode := reentrant.Confirmed
	if behind {
		mode = reentrant.WriteBehind
	}
	a, err := reentrant.New(through, reentrant.WithLease(lease), reentrant.WithHandoff(mode))
	if err != nil {
		l.errorf("%v", err)
		return
	}
	defer locktest.Abandon(a, 15*time.Second)
	b, err := reentrant.New(clean, reentrant.WithLease(lease))
	if err != nil {
		l.errorf("%v", err)
		return
	}
	defer locktest.Abandon(b, 15*time.Second)
	fencing := []reentrant.LockOption{reentrant.WithFencing()}[:l.rand.IntN(2)]
	if behind {
		fencing, l.mine = nil, a.ID()
	}
	mine, other := a.NewLock(l.name, fencing...), b.NewLock(l.name, fencing...)

	var group sync.WaitGroup
	group.Go(func() { l.other(ctx, other) })
	nested, swap := l.rand.IntN(3), l.rand.IntN(2) == 0
	if swap || behind { // two owners of one Client: the lock passes from one to the other
		group.Go(func() { l.program(ctx, mine, a, "o2", 0) })
	}
	if behind { // and back
		group.Go(func() {
			l.program(ctx, mine, a, "o3", 1)
			l.program(ctx, mine, a, "o3", 0)
		})
	}
	l.program(ctx, mine, a, "o1", nested)
	group.Wait()
	chaos.Remove()

	// Nothing is held: what no reply came for is put right in the background, long
	// before a lease of 30 s ends.
	deadline := time.Now().Add(15 * time.Second)
	for len(l.redis()) > 0 && time.Now().Before(deadline) {
		time.Sleep(2 * time.Millisecond)
	}
	if left := l.redis(); len(left) > 0 {
		l.errorf("the lock is left behind: %v", left)
	}
	if st := a.Stats(); st.Held != 0 || st.Waiting != 0 {
		l.errorf("%d held, %d waiting at the end", st.Held, st.Waiting)
	}
	l.stats.handedOver.Add(int64(a.Stats().HandedOver))
	l.stats.renewals.Add(int64(a.Stats().Renewals))
	l.hist.Disjoint(l.t, fmt.Sprintf("seed %d", l.seed))
}

// program acquires, nests, unnests, releases, and compares what Redis counts with
// what it was told. It is the only one that acts as its owner.
func (l *lostReplies) program(ctx context.Context, lock *reentrant.Lock, c *reentrant.Client, who string, nested int) {
	ctx = owner(ctx, who)
	hold, err := lock.Acquire(ctx)
	for tries := 0; err != nil && tries < 20; tries++ {
		l.stats.failed.Add(1) // four tries in a row without an answer
		hold, err = lock.Acquire(ctx)
	}
	if err != nil {
		l.errorf("%s: %v", who, err)
		return
	}
	l.stats.holds.Add(1)
	end := l.hist.Begin(who, hold)
	count := 1
	l.check(hold, "acquired", count)
	for range nested {
		if err := lock.Lock(ctx); err != nil {
			l.failed(who, "nested lock", err, reentrant.ErrNotAcquired)
			l.settles(hold, count)
			continue
		}
		count++
		l.check(hold, "nested", count)
	}
	for l.short && c.Stats().Renewals == 0 && time.Now().Before(hold.ValidUntil()) && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	for count > 1 {
		count--
		if err := lock.Unlock(ctx); err != nil {
			l.failed(who, "inner unlock", err, reentrant.ErrUnconfirmed)
			l.settles(hold, count)
			continue
		}
		l.check(hold, "unnested", count)
	}
	end()
	if err := hold.Release(ctx); err != nil {
		l.failed(who, "release", err, reentrant.ErrUnconfirmed)
		return
	}
	if _, there := l.redis()[hold.Owner()]; there && l.mine == "" {
		l.errorf("%s: its field is there after a confirmed release", who)
	}
}

// other takes the lock now and then over a connection that works, and would find
// out if somebody else's command freed it or took it.
func (l *lostReplies) other(ctx context.Context, lock *reentrant.Lock) {
	ctx = owner(ctx, "other")
	for range 3 {
		hold, err := lock.Acquire(ctx)
		if err != nil {
			l.errorf("the other client: %v", err)
			return
		}
		l.stats.others.Add(1)
		end := l.hist.Begin("other", hold)
		for range 3 {
			l.check(hold, "other", 1)
		}
		end()
		if err := hold.Release(ctx); err != nil {
			l.lossOr(hold, "the other client's release: %v", err)
		}
	}
}

// check compares at once: nothing may be on its way that could change the count.
func (l *lostReplies) check(hold *reentrant.Hold, when string, want int) {
	if l.mine != "" && strings.HasPrefix(hold.Owner(), l.mine+":") {
		l.follows(hold, when, want)
		return
	}
	got := l.redis()
	if len(got) == 1 && got[hold.Owner()] == strconv.Itoa(want) {
		return
	}
	l.lossOr(hold, "%s: Redis has %v, want %s: %d", when, got, hold.Owner(), want)
}

// follows is check for a field that follows: while the hold lasts one of its Client's owners
// stands in the hash, and soon it is the hold's own.
func (l *lostReplies) follows(hold *reentrant.Hold, when string, want int) {
	deadline := time.Now().Add(15 * time.Second)
	for {
		got, ours := l.redis(), 0
		for owner := range got {
			if strings.HasPrefix(owner, l.mine+":") {
				ours++
			}
		}
		switch {
		case len(got) != 1 || ours != 1:
			l.lossOr(hold, "%s: Redis has %v, want an owner of %s", when, got, l.mine)
			return
		case got[hold.Owner()] == strconv.Itoa(want):
			return
		case time.Now().After(deadline):
			l.lossOr(hold, "%s: Redis has %v, want %s: %d within 15 s", when, got, hold.Owner(), want)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// settles waits for the background to bring the count in line after an error.
func (l *lostReplies) settles(hold *reentrant.Hold, want int) {
	deadline := time.Now().Add(15 * time.Second)
	for l.redis()[hold.Owner()] != strconv.Itoa(want) {
		if time.Now().After(deadline) {
			l.lossOr(hold, "Redis has %v, want %s: %d within 15 s", l.redis(), hold.Owner(), want)
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// failed counts an error that four faults in a row explain, and reports others.
func (l *lostReplies) failed(who, what string, err error, allowed error) {
	switch {
	case errors.Is(err, allowed):
		if allowed == reentrant.ErrUnconfirmed {
			l.stats.unconfirmed.Add(1)
		} else {
			l.stats.failed.Add(1)
		}
	case l.short && errors.Is(err, reentrant.ErrLost):
		l.stats.losses.Add(1)
	default:
		l.errorf("%s: %s: %v", who, what, err)
	}
}

// lossOr reports a difference that is no consequence of a short lease having ended.
func (l *lostReplies) lossOr(hold *reentrant.Hold, format string, args ...any) {
	if l.short && !time.Now().Before(hold.ValidUntil()) {
		l.stats.losses.Add(1)
		return
	}
	l.errorf(format, args...)
}

func (l *lostReplies) redis() map[string]string { return locktest.Held(l.t, l.s, l.name) }

func (l *lostReplies) errorf(format string, args ...any) {
	l.t.Errorf("seed %d: "+format, append([]any{l.seed}, args...)...)
}

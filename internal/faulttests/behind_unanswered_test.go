package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// behindRig is a lock that b holds after a write-behind hand-off from a, the move of whose
// field has been sent and is not answered.
type behindRig struct {
	*faultRig
	t     *testing.T
	c     *reentrant.Client
	l     *reentrant.Lock
	hold  *reentrant.Hold
	moves *faultproxy.RuleHandle
}

// The move has run in Redis, or not, and its reply is lost: then the lock stands under one of
// two names. Whatever the holder does next, Redis has it right soon, and nothing is left behind.
func TestFault09BehindMoveWithoutAnswer(t *testing.T) {
	t.Parallel()
	next := map[string]func(r *behindRig){
		"released":              (*behindRig).release,
		"re-entered":            (*behindRig).reenter,
		"re-entered at last":    (*behindRig).reenterLater,
		"handed on":             (*behindRig).handOn,
		"handed back":           (*behindRig).handBack,
		"lost":                  (*behindRig).lose,
		"closed":                (*behindRig).close,
		"forced":                (*behindRig).force,
		"asked for":             (*behindRig).ask,
		"wanted by another too": (*behindRig).contended,
	}
	fates := map[string]faultproxy.Action{
		"has run": faultproxy.SwallowReply, "has not": faultproxy.SwallowRequest, "cut off": faultproxy.ResetAfter,
	}
	for what, do := range next {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := newFaultRig(t).warm(t).Server
			for fate, action := range fates {
				t.Run(fate, func(t *testing.T) {
					lease := 30 * time.Second
					if what == "lost" {
						lease = 600 * time.Millisecond
					}
					r := newBehindRig(t, server, lease, action)
					do(r)
					r.moves.Remove()
					locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
					if what != "closed" {
						r.asIfNew()
					}
				})
			}
		})
	}
}

func newBehindRig(t *testing.T, s *redistest.Server, lease time.Duration, action faultproxy.Action) *behindRig {
	t.Helper()
	r := &behindRig{faultRig: &faultRig{s, faultproxy.Start(t, s.Addr())}, t: t}
	r.c = faultClient(t, r.through(t, locktest.Impatience(60*time.Millisecond)), reentrant.WithLease(lease), locktest.WriteBehind)
	r.l = r.c.NewLock("l")
	r.moves = r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Action: action})
	must(t, r.l.Lock(r.a()))
	b := locktest.CallFor(t, r.c, r.l, "b")
	must(t, r.l.Unlock(r.a()))
	r.hold = b.Hold(t, 5*time.Second)
	redistest.Eventually(t, 5*time.Second, "the move was sent", func() bool { return r.moves.Hits() > 0 })
	return r
}

// asIfNew takes the lock for the next owners, a and b among them, who have it as if nothing had
// happened.
func (r *behindRig) asIfNew() {
	for _, who := range []string{"a", "b", "c"} {
		hold, err := r.l.Acquire(owner(r.t.Context(), who))
		must(r.t, err)
		if got := r.held(r.t, "l"); len(got) != 1 || got[hold.Owner()] != "1" {
			r.t.Errorf("%s holds the lock, Redis has %v", who, got)
		}
		must(r.t, hold.Release(r.t.Context()))
	}
}

package chaos

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// strike is one fault of a plan.
type strike struct {
	kind   *kind
	client int // history.Everyone for the server's
	at     time.Duration
	lasts  time.Duration
	lock   string // for a fault of one lock
	seed   uint64 // for what the fault itself draws
}

// kind is one way to do harm.
type kind struct {
	name        string
	weight      int           // how often it is drawn, beside the others
	least, most time.Duration // how long it lasts
	gap         time.Duration // to the next, added to what is drawn

	outlasts bool // renewals may fail for a lease even if it is short
	spares   bool // and not even if it is long
	forgets  bool // Redis loses its locks
	oneLock  bool // only strike.lock
	refuses  bool // new connections
	unseen   bool // MONITOR ends, or does not show that Redis refused a script or half of one

	// prepare, if there is one, does what is to be done before the fault begins.
	prepare func(r *round, s strike)

	// strike does the harm and undoes it after s.lasts, or when ctx ends.
	strike func(r *round, s strike)
}

// fault is how a strike goes into the history.
func (s strike) fault() history.Fault {
	f := history.Fault{
		Kind: s.kind.name, Client: s.client,
		Outlasts: s.kind.outlasts || s.lasts >= lease/4 && !s.kind.spares,
		Forgets:  s.kind.forgets,
		Refused:  s.kind.refuses,
	}
	if s.kind.oneLock {
		f.Lock = s.lock
	}
	return f
}

// draw makes the plan of one round: one fault of the server at a time, and beside it one of
// each client. It depends on nothing but its arguments.
func draw(seed uint64, round int, span time.Duration, clients int, locks []string) (lanes [][]strike) {
	for lane := range clients + 1 {
		random := rand.New(rand.NewPCG(seed, uint64(round)<<16|uint64(lane)))
		kinds, client, gap := serverKinds, history.Everyone, 600*time.Millisecond
		if lane > 0 {
			kinds, client, gap = clientKinds, lane-1, 1600*time.Millisecond
		}
		var strikes []strike
		at := time.Duration(random.Int64N(int64(gap)))
		for at < span {
			k := pick(random, kinds)
			s := strike{kind: k, client: client, at: at, lasts: between(random, k.least, k.most), seed: random.Uint64()}
			s.lock = locks[rand.New(rand.NewPCG(s.seed, 0)).IntN(len(locks))]
			strikes = append(strikes, s)
			at += s.lasts + k.gap + gap/4 + time.Duration(random.Int64N(int64(gap)))
		}
		lanes = append(lanes, strikes)
	}
	return lanes
}

func pick(random *rand.Rand, kinds []*kind) *kind {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := random.IntN(sum)
	i := slices.IndexFunc(kinds, func(k *kind) bool {
		n -= k.weight
		return n < 0
	})
	return kinds[i]
}

func between[T ~int64](random *rand.Rand, least, most T) T {
	return least + T(random.Int64N(int64(max(1, most-least+1))))
}

// chance is true with the given probability in per cent.
func chance(random *rand.Rand, percent int) bool { return random.IntN(100) < percent }

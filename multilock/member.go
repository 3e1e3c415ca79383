package multilock

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

// member is one member of one MultiLock.
type member struct {
	multi.Member
	index  int    // among the arguments
	first  int    // index of its first part among the parts of all arguments
	parts  int    // how many it has
	server string // address for messages
	place  place  // what the canonical order goes by
	rank   int    // in the canonical order

	mu       sync.Mutex
	runs     string        // the servers' run ids as seen last; guarded by mu
	replaced bool          // the run ids have changed before; guarded by mu
	ready    time.Time     // the member does not count before; guarded by mu
	pace     time.Duration // how long the last grant took; guarded by mu
	silent   bool          // the last attempt was not answered in time; guarded by mu
}

// place gives members the same order in every process that calls their servers by the same addresses,
// whatever the order of arguments. The order decides which busy member a call waits for, and which
// members it may keep meanwhile. It goes by a hash: with many locks on the same servers, the load of
// waiting is spread over them.
//
// Members of one name with equal addresses have the same place: go-redis calls every Sentinel group
// "FailoverClient". They come in the order of the arguments.
type place struct {
	hash        uint64
	key, server string
}

func placeOf(p multi.Part) place {
	h := fnv.New64a()
	h.Write([]byte(p.Key))
	h.Write([]byte{0})
	h.Write([]byte(p.Server))
	return place{hash: h.Sum64(), key: p.Key, server: p.Server}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.key, q.key), cmp.Compare(p.server, q.server))
}

// newMembers returns the members in canonical order.
func newMembers(locks []Locker) ([]*member, error) {
	if len(locks) == 0 {
		return nil, fmt.Errorf("%w: there are none", ErrMembers)
	}
	type single struct{ client, key string }
	seen := make(map[single]bool)
	members := make([]*member, len(locks))
	first := 0
	for i, lock := range locks {
		if lock == nil || lock == (*reentrant.Lock)(nil) || lock == (*MultiLock)(nil) {
			return nil, fmt.Errorf("%w: number %d is nil", ErrMembers, i+1)
		}
		m := &member{Member: lock.Member(), index: i, first: first}
		var places []place
		var servers []string
		for _, p := range m.Parts() {
			if seen[single{p.Client, p.Key}] {
				return nil, fmt.Errorf("%w: %q on %s is there twice", ErrMembers, p.Key, p.Server)
			}
			seen[single{p.Client, p.Key}] = true
			places = append(places, placeOf(p))
			if !slices.Contains(servers, p.Server) {
				servers = append(servers, p.Server)
			}
		}
		if len(places) == 0 {
			return nil, fmt.Errorf("%w: number %d has none", ErrMembers, i+1)
		}
		m.parts = len(places)
		m.place = slices.MinFunc(places, place.compare)
		m.server = strings.Join(servers, "+")
		first += m.parts
		members[i] = m
	}
	slices.SortStableFunc(members, func(a, b *member) int { return a.place.compare(b.place) })
	for rank, m := range members {
		m.rank = rank
	}
	return members, nil
}

// nameOf joins the members' names, in the order of the arguments.
func nameOf(members []*member) string {
	names := make([]string, len(members))
	for _, m := range members {
		names[m.index] = m.Name()
	}
	var different []string
	for _, name := range names {
		if !slices.Contains(different, name) {
			different = append(different, name)
		}
	}
	return strings.Join(different, "+")
}

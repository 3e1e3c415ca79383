package multilock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Sentinel groups all have the address "FailoverClient". Callers that name them in the same order get
// along as well as callers whose servers have addresses: a call that waits keeps what comes before,
// instead of giving it back and beginning again.
func TestAddressesThatAreAlike(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			different, turns := contended(t, kind.make, "10.0.0.%d:6379")
			t.Logf("different: turns %v, %.1f scripts each", turns, different)
			alike, turns := contended(t, kind.make, "FailoverClient")
			t.Logf("alike: turns %v, %.1f scripts each", turns, alike)
			if alike > 1.3*different {
				t.Errorf("%.1f scripts a turn, and %.1f where addresses are different", alike, different)
			}
			if least, most := slices.Min(turns), slices.Max(turns); least < most*3/4 {
				t.Errorf("one caller had %d turns and another %d", least, most)
			}
		})
	}
}

// contended has four callers take turns on three servers for a while. It returns how many
// scripts a turn took, and how many turns each had.
func contended(t *testing.T, lock func(fleet, testing.TB, string, ...multilock.Option) *multilock.MultiLock, addr string) (scripts float64, turns []int) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		turns = make([]int, 4)
		ctx, cancel := context.WithTimeout(v.ctx, 250*time.Millisecond)
		defer cancel()
		var callers []*pending
		for i := range turns {
			var f fleet
			for n, s := range v.s {
				rdb := redistest.MiniClient(t, s.Miniredis, func(o *redis.Options) {
					if o.Addr = addr; addr != "FailoverClient" {
						o.Addr = fmt.Sprintf(addr, n+1)
					}
				})
				f = append(f, newClient(t, rdb, reentrant.WithLease(30*time.Second)))
			}
			l := lock(f, t, name)
			callers = append(callers, begin(func() error {
				for l.Lock(ctx) == nil {
					turns[i]++
					time.Sleep(5 * time.Millisecond)
					if err := l.Unlock(v.ctx); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		sum := 0
		for i, caller := range callers {
			<-caller.done
			must(t, caller.err)
			sum += turns[i]
		}
		n := 0
		for _, s := range v.s {
			n += s.commands("EVALSHA")
		}
		scripts = float64(n) / float64(sum)
	})
	return scripts, turns
}

// The nodes that a cluster's client is given to begin with may be in any order. It is the
// same cluster, and has the same place among the members.
func TestAddressesOfAClusterInAnyOrder(t *testing.T) {
	var servers []string
	for _, addrs := range [][]string{{"10.0.0.1:1", "10.0.0.2:1"}, {"10.0.0.2:1", "10.0.0.1:1"}} {
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
		defer rdb.Close()
		given := slices.Clone(addrs)
		servers = append(servers, newClient(t, rdb).NewLock(name).Member().Parts()[0].Server)
		if !slices.Equal(addrs, given) || !slices.Equal(rdb.Options().Addrs, given) {
			t.Errorf("the client's own list is %v now", rdb.Options().Addrs)
		}
	}
	if servers[0] != servers[1] {
		t.Errorf("they are taken for different servers: %v", servers)
	}
}

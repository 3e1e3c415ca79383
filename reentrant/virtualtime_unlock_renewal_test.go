package reentrant_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/internal/locktest"
)

// Ten thousand holds are released at about the moment of their renewal, which is executed
// before the release, after it, or in the next hold of the same owner, and answered as
// late. Nothing is extended that is not held, and no hold is told of a loss that an earlier
// one's renewal found.
func TestFault46UnlockRacesRenewal(t *testing.T) {
	t.Parallel()
	const locks = 100
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	seed := uint64(time.Now().UnixNano())
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		r := &quickRedis{random: rand.New(rand.NewPCG(seed, locks)), holders: make(map[string]string)}
		v.mini.Server().SetPreHook(r.answer)
		c := v.client()
		var group sync.WaitGroup
		for i := range locks {
			group.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				l := c.NewLock(strconv.Itoa(i))
				for n := range rounds {
					me := owner(v.ctx, fmt.Sprint("owner", n/2)) // of two holds in a row
					hold, err := l.Acquire(me)
					if err != nil {
						t.Errorf("seed %d: Acquire: %v", seed, err)
						return
					}
					time.Sleep(lease/3 + time.Duration(random.IntN(40)-10)*time.Millisecond)
					if err := hold.Release(me); err != nil {
						t.Errorf("seed %d: Release: %v", seed, err)
					}
					if random.IntN(4) == 0 {
						time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
					}
				}
			})
		}
		group.Wait()
		s := c.Stats()
		if s.Losses > 0 || s.Held > 0 || s.Acquired != uint64(locks*rounds) || len(r.holders) > 0 {
			t.Errorf("seed %d: %+v; held in Redis: %v", seed, s, r.holders)
		}
		v.pass(time.Second)
		renewed, overtaken := r.renewed, r.overtaken
		v.pass(time.Minute)
		if n := r.renewed + r.overtaken - renewed - overtaken; n > 0 {
			t.Errorf("seed %d: %d renewals with nothing held", seed, n)
		}
		t.Logf("seed %d: %d renewals, and %d that came after the release", seed, renewed, overtaken)
		// Only what was on its way at a release may come after it.
		if renewed == 0 || overtaken == 0 || overtaken > locks*rounds/10 {
			t.Errorf("seed %d: %d renewals of %d came after the release", seed, overtaken, renewed+overtaken)
		}
	})
}

// quickRedis answers for miniredis what an uncontended lock is asked, without its Lua, which
// would take a minute for what is a second's work. Renewals come and are answered late.
type quickRedis struct {
	mu        sync.Mutex
	random    *rand.Rand        // guarded by mu
	holders   map[string]string // owner by lock; guarded by mu
	renewed   int               // guarded by mu
	overtaken int               // renewals that found another holder or none; guarded by mu
}

func (r *quickRedis) answer(p *server.Peer, cmd string, args ...string) bool {
	script := locktest.ScriptOf(append([]string{cmd}, args...))
	if script == "" {
		return false
	}
	n, _ := strconv.Atoi(args[1])
	keys, argv := args[2:2+n], args[2+n:]
	if script == "renew" {
		r.nap()
		defer r.nap() // the answer is on its way
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch held := r.holders[keys[0]]; script {
	case "acquire":
		if held != "" && held != argv[0] {
			p.WriteError("ERR of the test: held by " + held)
			break
		}
		r.holders[keys[0]] = argv[0]
		p.WriteLen(2)
		p.WriteInt(1)
		p.WriteInt(0)
	case "release":
		if held != argv[0] {
			p.WriteInt(0)
			break
		}
		delete(r.holders, keys[0])
		p.WriteInt(1)
	case "renew":
		p.WriteLen(n)
		for i, key := range keys {
			if r.holders[key] == argv[1+2*i] {
				r.renewed++
				p.WriteInt(1)
			} else {
				r.overtaken++
				p.WriteInt(0)
			}
		}
	default:
		p.WriteError("ERR of the test: no " + script)
	}
	return true
}

// nap takes up to 20 ms, every other time.
func (r *quickRedis) nap() {
	r.mu.Lock()
	d := time.Duration(max(0, r.random.IntN(40)-20)) * time.Millisecond
	r.mu.Unlock()
	time.Sleep(d)
}

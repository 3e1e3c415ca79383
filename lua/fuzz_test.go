package lua_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// Three owners in two clients; only those of one client hand over to each other.
var owners = []struct {
	client     int
	name, mate string
}{
	{0, "0:x", "0:y"},
	{0, "0:y", "0:x"},
	{1, "1:x", "1:x2"},
}

// decode makes a sequence of commands of random bytes, two for each. Some of them
// are earlier commands, sent once more: right away, or long after.
func decode(data []byte) []command {
	var numbers [2]uint64
	var all []command
	for ; len(data) >= 2; data = data[2:] {
		what, detail := data[0], int(data[1])
		if what >= 192 && len(all) > 0 {
			all = append(all, all[detail%len(all)])
			continue
		}
		o := owners[int(what/byte(kinds))%len(owners)]
		numbers[o.client]++
		c := command{kind: kind(what) % kinds, client: o.client, owner: o.name, to: o.mate, n: 1 + detail%3}
		c.order.Number = numbers[o.client]
		if detail >= 192 {
			c.order.Epoch = lease
		}
		all = append(all, c)
	}
	return all
}

// FuzzAnyOrder sends commands in any order, as often as it likes, and compares the
// lock with a model after each.
func FuzzAnyOrder(f *testing.F) {
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, 160)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(data)
	}
	m, rdb := redistest.Mini(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		m.FlushAll()
		s := &state{mini: m, rdb: rdb}
		for i, c := range decode(data) {
			if err := s.step(t, c); err != nil {
				t.Fatalf("command %d, %v: %v", i, c, err)
			}
		}
	})
}

// state is Redis beside the model of it.
type state struct {
	mini  *miniredis.Miniredis
	rdb   *redis.Client
	model model
}

func (s *state) step(t *testing.T, c command) error {
	before := s.mini.Dump()
	last := s.model.token
	want := s.model.apply(c)
	k := lua.KeysOf(name, fmt.Sprint(c.client))
	g, err := c.send(t.Context(), s.rdb, &k, lua.NewWake("PUBLISH", 0, 0, true))
	if err != nil || g.Verdict != want {
		return fmt.Errorf("verdict %d, want %d, %v", g.Verdict, want, err)
	}
	switch granted := want == lua.Done && (c.kind == acquire || c.kind == transfer); {
	case granted && g.Token <= last:
		return fmt.Errorf("token %d, after %d", g.Token, last)
	case granted:
		s.model.token = g.Token
	}
	// The dump has no TTLs: a renewal, too, must leave it alone.
	if after := s.mini.Dump(); (want == lua.Stale || c.kind == renew) && after != before {
		return fmt.Errorf("changed\n%sto\n%s", before, after)
	}
	return s.compare(t)
}

// compare looks at the lock itself.
func (s *state) compare(t *testing.T) error {
	fields := map[string]string{}
	if s.model.holder != "" {
		fields[s.model.holder] = fmt.Sprint(s.model.count)
		if ttl := s.rdb.PTTL(t.Context(), name).Val(); ttl <= 0 || ttl > lease {
			return fmt.Errorf("PTTL %v", ttl)
		}
	}
	if got := s.rdb.HGetAll(t.Context(), name).Val(); !maps.Equal(got, fields) {
		return fmt.Errorf("the lock is %v, want %v", got, fields)
	}
	return nil
}

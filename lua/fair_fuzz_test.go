package lua_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// decodeFair makes a sequence of commands of random bytes, three for each. Some of them are earlier commands, sent once
// more: right away, or long after. Each owner has two tickets, so that a late command may be about an earlier wait.
func decodeFair(data []byte) []fairCommand {
	var numbers [2]uint64
	var all []fairCommand
	for ; len(data) >= 3; data = data[3:] {
		what, detail, more := data[0], int(data[1]), data[2]
		if what >= 176 && len(all) > 0 {
			all = append(all, all[max(0, len(all)-1-detail%(1+len(all)*int(more)/255))])
			continue
		}
		o := owners[int(what/byte(fairKinds))%len(owners)]
		numbers[o.client]++
		c := fairCommand{kind: fairKind(what) % fairKinds, client: o.client, owner: o.name, to: o.mate, n: 1 + detail%3, lined: more&1 == 1}
		c.order.Number = numbers[o.client]
		if detail >= 208 {
			c.order.Epoch = lease
		}
		own, mates := lua.TicketOf(o.name, uint64(1+more>>1&1)), lua.TicketOf(o.mate, uint64(1+more>>2&1))
		switch c.kind {
		case fairTry:
			if c.ticket = own; more&24 == 24 {
				c.ticket, c.lined = "", false // a single attempt
			}
		case fairHand:
			c.ticket = mates
			if more&8 == 8 && !c.lined {
				c.new = []string{mates}
			}
		case fairLine:
			if c.new = []string{own, mates}; c.lined {
				c.old, c.new = c.new[:1], c.new[1:]
			}
		case fairLeave:
			c.new = []string{own, mates}[:1+more>>3&1]
		}
		all = append(all, c)
	}
	return all
}

// FuzzFairAnyOrder sends commands about a fair lock in any order, as often as it likes, and compares the lock and its line
// with a model after each.
func FuzzFairAnyOrder(f *testing.F) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 240)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(data)
	}
	m, rdb := redistest.Mini(f)
	m.SetTime(time.Now()) // stands still: nobody is left out
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 600 {
			return
		}
		m.FlushAll()
		s := &fairState{mini: m, rdb: rdb}
		for i, c := range decodeFair(data) {
			if err := s.step(t, c); err != nil {
				t.Fatalf("command %d, %v: %v", i, c, err)
			}
		}
	})
}

// fairState is Redis beside the model of it.
type fairState struct {
	mini  *miniredis.Miniredis
	rdb   *redis.Client
	model fairModel
}

func (s *fairState) step(t *testing.T, c fairCommand) error {
	before, last := s.mini.Dump(), s.model.token
	want := s.model.apply(c)
	k := lua.KeysOf(name, fmt.Sprint(c.client))
	// Nobody listens, and nobody is counted: otherwise Redis would drop those who do not hear.
	g, err := c.send(t.Context(), s.rdb, &k, lua.NewWake("PUBLISH", 0, 0, false))
	if err != nil || g.Verdict != want {
		return fmt.Errorf("verdict %d, want %d, %v", g.Verdict, want, err)
	}
	switch granted := want == lua.Done && (c.kind == fairTry || c.kind == fairHand); {
	case granted && g.Token <= last:
		return fmt.Errorf("token %d, after %d", g.Token, last)
	case granted:
		s.model.token = g.Token
	}
	if after := s.mini.Dump(); want == lua.Stale && after != before {
		return fmt.Errorf("changed\n%sto\n%s", before, after)
	}
	return s.compare(t, &k)
}

func (s *fairState) compare(t *testing.T, k *lua.Keys) error {
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
	line := s.rdb.LRange(t.Context(), k.Queue(), 0, -1).Val()
	if !slices.Equal(line, s.model.line) {
		return fmt.Errorf("the line is %q, want %q", line, s.model.line)
	}
	scored := s.rdb.ZRange(t.Context(), k.Timeouts(), 0, -1).Val()
	if slices.Sort(scored); !slices.Equal(scored, slices.Sorted(slices.Values(line))) {
		return fmt.Errorf("scores of %q, the line is %q", scored, line)
	}
	return nil
}

package multilock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// refusals are the ways in which one server answers and does not serve. held says whether
// a hold keeps that member. What is said of a permission depends on the version.
var refusals = []struct {
	fault      string
	says       string
	begin, end []any
	held       bool
}{
	{"30 full", "OOM", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, true},
	{"25 no replicas", "NOREPLICAS", []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, false},
	{"33 no permission", "", []any{"ACL", "SETUSER", "u", "-pexpire"}, []any{"ACL", "SETUSER", "u", "+pexpire"}, false},
}

// Rows 25, 30 and 33 at one of three members. All of them together are not granted, the error says
// why, and the others are free again; a majority is. A hold keeps the member while renewals work,
// and loses all, or goes on with a majority, when they do not. Afterwards it is as before.
func TestFault25And30And33MemberRefuses(t *testing.T) {
	for _, refusal := range refusals {
		t.Run(refusal.fault, func(t *testing.T) {
			if refusal.says == "NOREPLICAS" {
				redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
			}
			t.Parallel()
			says := refusal.says
			if says == "" {
				says = redistest.RefusedInScript(t)
			}
			s := startServers(t, 3)
			for _, server := range s {
				server.SetUser(t, "u", "on", ">p", "~*", "&*", "+@all")
			}
			f := s.process(t, func(o *redis.Options) { o.Username, o.Password = "u", "p" })
			opts, trusting := realOptions(), append(realOptions(), multilock.WithoutQuarantine())
			all, quorum := f.all(t, "all", opts...), f.quorum(t, "quorum", trusting...)
			ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
			defer cancel()
			a, err := all.Acquire(ctx)
			must(t, err)
			q, err := quorum.Acquire(ctx)
			must(t, err)
			wantMembers(t, q, 3)
			s[1].Do(t, refusal.begin...)

			ok, err := f.all(t, "another", opts...).TryLock(ctx, 0, 0)
			wants(t, err, reentrant.ErrNotAcquired)
			if ok || !strings.Contains(err.Error(), says) {
				t.Errorf("all, one of which refuses: %v, %v", ok, err)
			}
			s.freeSoon(t, "another")
			another := f.quorum(t, "another", trusting...)
			must(t, another.Lock(ctx))
			must(t, another.Unlock(ctx))
			s.freeSoon(t, "another")

			if refusal.held {
				before := f[1].Stats().Renewals
				redistest.Eventually(t, soon, "the member is renewed", func() bool { return f[1].Stats().Renewals >= before+2 })
				must(t, a.Release(ctx))
				s.freeSoon(t, "all") // a release needs no memory
			} else {
				within(t, soon, "the loss of one member of all", a.Lost())
				wants(t, a.Release(ctx), reentrant.ErrLost)
				wantMembers(t, q, 2)
			}
			if over(q.Lost()) {
				t.Fatalf("the quorum is lost: %v", q.Release(ctx))
			}
			s[1].Do(t, refusal.end...)
			wantMembers(t, q, 3)
			must(t, q.Release(ctx))
			for _, name := range []string{"all", "quorum", "another"} {
				s.freeSoon(t, name)
			}
		})
	}
}

// Row 34 at one of three members: something else is at the lock's key. It is left alone, the
// error says so, and a majority does without.
func TestFault34ForeignKeyAtAMember(t *testing.T) {
	t.Parallel()
	s := startServers(t, 3)
	f := s.process(t)
	opts, trusting := realOptions(), append(realOptions(), multilock.WithoutQuarantine())
	s[2].Do(t, "SET", name, "something else")
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	wants(t, f.all(t, name, opts...).Lock(ctx), reentrant.ErrNotAcquired, reentrant.ErrForeignKey)
	s.freeSoon(t, name, 2)
	q, err := f.quorum(t, name, trusting...).Acquire(ctx)
	must(t, err)
	wantMembers(t, q, 2)
	must(t, q.Release(ctx))
	s.freeSoon(t, name, 2)
	if v := s[2].Do(t, "GET", name); v != "something else" {
		t.Errorf("the key is %v", v)
	}
}

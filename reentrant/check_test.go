package reentrant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Check finds nothing amiss, and leaves nothing behind.
func TestCheck(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		rdb := b.client()
		c := b.newClient(t, rdb)
		warnings, err := c.Check(t.Context(), c.NewLock("orders", reentrant.WithFencing()), c.NewLock("{orders}"))
		must(t, err)
		for _, warning := range warnings {
			t.Error(warning)
		}
		keys, err := rdb.Keys(t.Context(), "*").Result()
		must(t, err)
		if len(keys) > 0 {
			t.Errorf("left: %v", keys)
		}
		redistest.Eventually(t, 5*time.Second, "no channel is left", func() bool {
			channels, err := rdb.PubSubChannels(t.Context(), "*").Result()
			return err == nil && len(channels) == 0
		})
		if s := c.Stats(); s.Held != 0 || s.Acquired != 2 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// Whoever gives a user what Check asks for, and nothing else, ends with one for which locks
// work, whatever characters the prefix has, and that has no right to the locks of others.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	for what, prefix := range map[string]string{"plain": "lock:", "pattern": `a*b?[c]\d:`, "tag": "{orders}:"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			locktest.SetUser(t, s, "u")
			c := locktest.FaultClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithPrefix(prefix))
			like := c.NewLock("l", reentrant.WithFencing())
			var given []string
			for {
				warnings, err := c.Check(t.Context(), like)
				rules := locktest.RulesOf(t, append(warnings, err)...)
				if len(rules) == 0 {
					break
				}
				if slices.Contains(given, rules[0]) {
					t.Fatalf("%s was given and is asked for: %v", rules[0], err)
				}
				locktest.SetUser(t, s, "u", rules...)
				given = append(given, rules...)
			}
			t.Logf("%s", given)
			s.Do(t, "ACL", "LOG", "RESET")
			me := owner(t.Context(), "me")
			must(t, like.Lock(me))
			must(t, like.Lock(me))
			must(t, like.Unlock(me))
			must(t, like.Unlock(me))
			if log := s.Do(t, "ACL", "LOG").([]any); len(log) > 0 {
				t.Errorf("refused: %v", log)
			}
			other := locktest.FaultClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithPrefix(strings.ReplaceAll(strings.ToUpper(prefix), "*", "xx")))
			if err := other.NewLock("l").Lock(me); err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("a lock under %q: %v", prefix, err)
			}
		})
	}
}

// A node of a Cluster whose user differs from that of the others is found.
func TestCheckEachMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	for _, node := range cluster.Nodes {
		locktest.SetUser(t, node, "u", "~*", "&*", "+@all")
	}
	c := locktest.FaultClient(t, cluster.Client(t, func(o *redis.ClusterOptions) { o.Username, o.Password = "u", "p" }))
	warnings, err := c.Check(t.Context())
	if err != nil || len(warnings) > 0 || c.Stats().Acquired != 3 {
		t.Fatalf("%v, %v, %d locks were taken", err, warnings, c.Stats().Acquired)
	}
	locktest.SetUser(t, cluster.Nodes[2], "u", "-pexpire")
	_, err = c.Check(t.Context())
	var missing *reentrant.PermissionError
	if !errors.As(err, &missing) || missing.Server != cluster.Nodes[2].Addr() || missing.Rule != "+pexpire" || !missing.Required {
		t.Errorf("%+v", err)
	}
	if rules := locktest.RulesOf(t, err); len(rules) != 1 {
		t.Errorf("missing: %v", rules)
	}
}

// Check says why no lock is to be had, also if no permission is the reason.
func TestCheckTakesALock(t *testing.T) {
	t.Parallel()
	for reason, setting := range map[string][]any{
		"OOM":        {"CONFIG", "SET", "maxmemory", "1"},
		"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", "1"},
		"READONLY":   {"REPLICAOF", "127.0.0.1", "1"}, // of a server that is not there
		"WRONGPASS":  {"ACL", "SETUSER", "u", "<p", ">q"},
	} {
		t.Run(reason, func(t *testing.T) {
			if reason == "NOREPLICAS" {
				redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
			}
			t.Parallel()
			s := redistest.Start(t)
			locktest.SetUser(t, s, "u", "~*", "&*", "+@all")
			c := locktest.FaultClient(t, s.Client(t, locktest.AsUser("u")))
			s.Do(t, setting...)
			if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), reason) || errors.Is(err, reentrant.ErrPermission) {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

// A Redis that does not answer keeps nobody for longer than his ctx, nor a Client from
// closing; and what was begun is undone when Redis answers.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	patient := locktest.Impatience(time.Minute) // by itself go-redis would give up much later
	c, d := locktest.FaultClient(t, s.Client(t, patient)), locktest.FaultClient(t, s.Client(t, patient))
	_, err := c.Check(t.Context())
	must(t, err)
	s.Stop()
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	checked, closed := make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.Check(ctx); checked <- err }()
	go func() { _, err := d.Check(context.Background()); closed <- err }() // a ctx that never ends
	cancel(why)
	wants(t, locktest.InTime(t, 20*time.Second, "Check returns", checked), context.Canceled, why)
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	_ = d.Close(short)
	wants(t, locktest.InTime(t, 20*time.Second, "Check returns", closed), reentrant.ErrClosed)
	s.Continue()
	locktest.CloseQuickly(t, c)
	locktest.TidyWithin(t, s, 5*time.Second)

	_, err = c.Check(t.Context())
	wants(t, err, reentrant.ErrClosed)
	_, err = c.Check(ctx)
	wants(t, err, why)
}

func TestCheckRefusesLocks(t *testing.T) {
	m, _ := redistest.Mini(t)
	c, d := newClient(t, redistest.MiniClient(t, m)), newClient(t, redistest.MiniClient(t, m))
	_, err := c.Check(t.Context(), d.NewLock("l"))
	wants(t, err, reentrant.ErrInvalidOption)
	_, err = c.Check(t.Context(), c.NewLock("{}"))
	wants(t, err, reentrant.ErrInvalidName)
}

// A name may be as long as names may be, though that of the lock which is looked at is longer.
func TestCheckLongestName(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := locktest.FaultClient(t, s.Client(t))
	l := c.NewLock(strings.Repeat("x", 512))
	must(t, l.Lock(t.Context()))
	must(t, l.Unlock(t.Context()))
	_, err := c.Check(t.Context(), l)
	must(t, err)
}

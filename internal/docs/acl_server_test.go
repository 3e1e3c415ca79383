package docs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestPermissions uses locks as the users of SECURITY.md, whole and with each of their
// permissions left out, on a single server.
func TestPermissions(t *testing.T) {
	redistest.Needs(t, "7.0", "users without channels, and ACL LOG with subcommands")
	t.Parallel()
	rules := readRules(t, "user", "server")
	happens := degrades(t)
	inCluster := readRules(t, "cluster").permissions()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	logAll(t, server)
	connect := func(t *testing.T, user string) *aclLife {
		through := func(o *redis.Options) { o.Addr = proxy.Addr() }
		return &aclLife{
			t: t, name: user, other: user + "-other", server: func() *redistest.Server { return server },
			a:    aclClient(t, server.Client(t, login(user), through)),
			b:    aclClient(t, server.Client(t, login(user))),
			drop: func(r *faultproxy.Rule) { proxy.Add(*r) },
		}
	}

	// First, while the server knows no script yet.
	rules.make(t, "no-eval", "+eval", server)
	outcomes := map[string]*aclLife{"+eval": connect(t, "no-eval")}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	outcomes["+eval"].live(ctx)

	t.Run("whole", func(t *testing.T) {
		rules.make(t, userOfRules, "", server)
		life := connect(t, userOfRules)
		life.whole = true
		life.ended = func() bool { return calledOn(t, "unsubscribe", server) }
		life.live(ctx)
		if words := refusals(t, userOfRules, server); len(words) > 0 {
			t.Errorf("Redis refused %v", words)
		}
		required, optional := life.check(ctx)
		delete(optional, "+info")
		if len(life.failures)+len(required)+len(optional) > 0 || life.force != nil || life.fencing != nil || !life.woken || !life.handedOver {
			t.Errorf("%+v, Check: %v, %v", life, required, optional)
		}
		for _, word := range rules.permissions() {
			if word[0] == '+' && !calledOn(t, word[1:], server) {
				t.Errorf("%s is of no use", word)
			}
		}
		// A quorum's members have to say who they are.
		member := life.a.NewLock(life.name).Member()
		if _, err := member.Servers(ctx); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("the server told who it is: %v", err)
		}
		readRules(t, "info").make(t, userOfRules, "", server)
		if _, err := member.Servers(ctx); err != nil {
			t.Error(err)
		}
		named := aclClient(t, server.Client(t, login(userOfRules)), reentrant.WithClientName("billing"))
		if _, optional := (&aclLife{b: named}).check(ctx); len(optional) != 1 || optional["~redlatch_client:{lock:*"] == "" {
			t.Errorf("Check of a Client with a name: %v", optional)
		}
		readRules(t, "name").make(t, userOfRules, "", server)
		if warnings, err := named.Check(ctx); err != nil || len(warnings) > 0 {
			t.Errorf("Check: %v, %v", warnings, err)
		}
		if _, err := life.a.Inspect(ctx, life.name); err != nil {
			t.Error(err)
		}
		if warnings, err := life.a.Check(ctx, life.a.NewLock("x", reentrant.WithFencing())); err != nil || len(warnings) > 0 {
			t.Errorf("Check: %v, %v", warnings, err)
		}
	})

	var mu sync.Mutex
	var lives sync.WaitGroup
	for i, word := range rules.permissions() {
		if word == "+eval" {
			continue
		}
		user := fmt.Sprint("user", i)
		rules.make(t, user, word, server)
		life := connect(t, user)
		life.deaf = word == "+subscribe" || word[0] == '&'
		if word == "+unsubscribe" {
			life.ended = func() bool { return slices.Contains(refusals(t, user, server), word) }
		}
		lives.Go(func() {
			life.live(ctx)
			mu.Lock()
			defer mu.Unlock()
			outcomes[word] = life
		})
	}
	lives.Wait()
	for word, life := range outcomes {
		t.Run("without "+word, func(t *testing.T) {
			life.t = t
			life.judge(ctx, word, happens[word], server)
		})
	}
	for word := range happens {
		if _, left := outcomes[word]; !left && !slices.Contains(inCluster, word) {
			t.Errorf("the table has %s, which is no permission of the rule", word)
		}
	}
	for _, key := range server.Do(t, "KEYS", "*").([]any) {
		if ttl := server.Do(t, "PTTL", key).(int64); ttl == -1 && !strings.HasPrefix(key.(string), "redisson_lock_token:") {
			t.Errorf("%s has no TTL", key)
		}
	}
}

// judge compares what happened without a permission with what SECURITY.md says, and with what
// Check says; nothing said is a failure.
func (l *aclLife) judge(ctx context.Context, word, happens string, servers ...*redistest.Server) {
	l.t.Helper()
	redistest.Eventually(l.t, 10*time.Second, "Redis refuses "+word, func() bool {
		return slices.Contains(refusals(l.t, l.name, servers...), word)
	})
	required, optional := l.check(ctx)
	if happens == "" {
		if without, found := required[word]; len(l.failures) == 0 || !found || len(required) > 1 {
			l.t.Errorf("failures %q, Check names %v", l.failures, required)
		} else {
			l.t.Logf("%s; %s", without, strings.Join(l.failures, "; "))
		}
		return
	}
	if optional[word] != happens || len(required)+len(l.failures) > 0 {
		l.t.Errorf("Check names %v, and as required %v; failures %q; SECURITY.md: %s", optional, required, l.failures, happens)
	}
	for _, of := range []struct {
		what       string
		stillWorks bool
	}{
		{"is not woken", l.woken},
		{"not handed over", l.handedOver},
		{"ForceUnlock fails", l.force == nil},
		{"WithFencing", l.fencing == nil},
	} {
		if says := strings.Contains(happens, of.what); says == of.stillWorks {
			l.t.Errorf("%q: still works: %v", of.what, of.stillWorks)
		}
	}
}

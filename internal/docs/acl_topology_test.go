package docs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestPermissionsInCluster does as TestPermissions in a Cluster, for the permissions that only
// matter there.
func TestPermissionsInCluster(t *testing.T) {
	redistest.Needs(t, "7.0", "users without channels, and ACL LOG with subcommands")
	t.Parallel()
	rules := readRules(t, "user", "cluster")
	happens := degrades(t)
	cluster := redistest.StartCluster(t, 2)
	logAll(t, cluster.Nodes...)
	connect := func(user, without string) *aclLife {
		rules.make(t, user, without, cluster.Nodes...)
		client := func() redis.UniversalClient {
			return cluster.Client(t, func(o *redis.ClusterOptions) {
				o.Username, o.Password = user, passwordOfRules[1:]
			})
		}
		owner := cluster.Owner(t, "lock:"+user)
		life := &aclLife{
			t: t, name: user, server: func() *redistest.Server { return owner },
			a: aclClient(t, client()), b: aclClient(t, client()),
		}
		for i := 0; life.other == "" || cluster.Owner(t, "lock:"+life.other) != owner; i++ {
			life.other = fmt.Sprint(user, "-other", i)
		}
		return life
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	words := append(readRules(t, "cluster").permissions(), "")
	lives := make(map[string]*aclLife)
	for i, word := range words {
		life := connect(fmt.Sprint("user", i), word)
		switch word {
		case "+asking":
			life.move = func(key string) { migrate(t, cluster, key) }
		case "":
			life.move = func(key string) { migrate(t, cluster, key) }
			life.whole = true
			life.ended = func() bool { return calledOn(t, "sunsubscribe", cluster.Nodes...) }
		case "+sunsubscribe":
			life.ended = func() bool { return slices.Contains(refusals(t, life.name, cluster.Nodes...), word) }
		}
		life.deaf = word == "+ssubscribe" || word == "+pubsub|shardnumsub" || word != "" && word[0] == '&'
		lives[word] = life
	}
	var running sync.WaitGroup
	for _, life := range lives {
		running.Go(func() { life.live(ctx) })
	}
	running.Wait()
	for word, life := range lives {
		if word != "" {
			t.Run("without "+word, func(t *testing.T) {
				life.t = t
				life.judge(ctx, word, happens[word], cluster.Nodes...)
			})
			continue
		}
		t.Run("whole", func(t *testing.T) {
			if words := refusals(t, life.name, cluster.Nodes...); len(words) > 0 {
				t.Errorf("Redis refused %v", words)
			}
			required, optional := life.check(ctx)
			delete(optional, "+info")
			if len(life.failures)+len(required)+len(optional) > 0 || life.force != nil || life.fencing != nil || !life.woken || !life.handedOver {
				t.Errorf("%+v, Check: %v, %v", life, required, optional)
			}
			for _, word := range rules.permissions() {
				// SET is for what has no proxy here, see TestPermissions.
				if word[0] == '+' && word != "+set" && !calledOn(t, word[1:], cluster.Nodes...) {
					t.Errorf("%s is of no use", word)
				}
			}
		})
	}
}

// migrate moves a key to another node of the Cluster, and leaves its slot on the way.
func migrate(t *testing.T, cluster *redistest.Cluster, key string) {
	from, to := cluster.Owner(t, key), cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	cluster.StartMigration(t, key, to)
	host, port, err := net.SplitHostPort(to.Addr())
	if err != nil {
		t.Error(err)
		return
	}
	from.Do(t, "MIGRATE", host, port, "", 0, 5000, "KEYS", key)
}

// TestPermissionsUnderSentinel does so for the user at the Sentinels, and asks the replica.
func TestPermissionsUnderSentinel(t *testing.T) {
	redistest.Needs(t, "7.0", "users without channels, and ACL LOG with subcommands")
	t.Parallel()
	watch := readRules(t, "sentinel")
	group := redistest.StartSentinel(t)
	readRules(t, "user", "server", "acks").make(t, userOfRules, "", group.Master, group.Replica)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lives := make(map[string]*aclLife)
	for i, word := range append(watch.permissions(), "") {
		user := fmt.Sprint("user", i)
		watch.make(t, user, word, group.Sentinels...)
		client := func() redis.UniversalClient {
			return group.Client(t, func(o *redis.FailoverOptions) {
				o.Username, o.Password = userOfRules, passwordOfRules[1:]
				o.SentinelUsername, o.SentinelPassword = user, passwordOfRules[1:]
				o.MaxRetries, o.DialerRetries = -1, 1 // nobody is late here
			})
		}
		lives[word] = &aclLife{
			t: t, name: user, server: func() *redistest.Server { return group.Master },
			a: aclClient(t, client(), reentrant.WithReplicaAcks(1, 900*time.Millisecond)), b: aclClient(t, client()),
		}
	}
	var running sync.WaitGroup
	for _, life := range lives {
		running.Go(func() { life.live(ctx) })
	}
	running.Wait()

	text := read(t, "SECURITY.md")
	for word, life := range lives {
		refused := refusals(t, life.name, group.Sentinels...)
		switch word {
		case "":
			if len(refused) > 0 || len(life.failures) > 0 || !life.woken {
				t.Errorf("%+v; refused: %v", life, refused)
			}
		case "+sentinel|get-master-addr-by-name":
			required, _ := life.check(ctx)
			if _, named := required[word]; len(life.failures) == 0 || !named || len(required) != 1 {
				t.Errorf("failures without %s: %v; Check names %v", word, life.failures, required)
			}
		default: // is used, and can be missed while all servers run
			if len(life.failures) > 0 || !slices.Contains(refused, word) {
				t.Errorf("without %s: %v; refused: %v", word, life.failures, refused)
			}
			if !strings.Contains(text, "`"+word+"`") {
				t.Errorf("SECURITY.md does not tell what %s is for", word)
			}
		}
	}

	// The user at the data, without what asking a replica needs.
	readRules(t, "user", "server", "acks").make(t, "hasty", "+wait", group.Master, group.Replica)
	hasty := aclClient(t, group.Master.Client(t, login("hasty")), reentrant.WithReplicaAcks(1, 900*time.Millisecond))
	if err := hasty.NewLock("x").Lock(ctx); !errors.Is(err, reentrant.ErrNotAcquired) {
		t.Errorf("without +wait: %v", err)
	}
	if _, err := hasty.Check(ctx); len(missing(err)) != 1 || missing(err)["+wait"] == "" {
		t.Errorf("without +wait, Check: %v", err)
	}
}

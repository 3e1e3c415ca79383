package leader_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// patientLease outlasts a failover, as a rule.
const patientLease = 4 * time.Second

// The master dies, and its replica has the lock: never two lead, and the leader leads on if its lease outlasts the failover.
func TestFailoverThatKeepsTheLock(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinel(t)
	all := start3(t, spec{Sentinels: group.Addrs, Lease: patientLease})
	_, token := leads(t, 0, all...)
	group.Replica.Follows(t, group.Master) // what Redis has acknowledged of the lock, the replica has
	group.Master.Kill()
	killed := time.Now()
	redistest.Eventually(t, 30*time.Second, "somebody leads by the new master", func() bool {
		for _, c := range all {
			// No lease of the old master's lasts as long.
			if term := c.latest(); term.to.After(killed.Add(patientLease)) {
				t.Logf("%v; the leader before had term %d", &term, token)
				return true
			}
		}
		return false
	})
	judgeAll(t, nil, all...)
	for _, c := range all {
		c.end()
	}
}

// The master dies with a lock of which its replica has not heard. The new master lets another one lead beside the old leader:
// that is documented. The old one is told when its lease is over at the latest, and the new one has a greater token.
func TestFailoverThatForgetsTheLeader(t *testing.T) {
	t.Parallel()
	group, relay := redistest.StartSentinelRelayed(t)
	relay.CutReplicas()
	base := spec{Sentinels: group.Addrs, Lease: patientLease}
	once := base
	once.Once = true // the others lead next
	old := start(t, "old", once)
	_, token := leads(t, 0, old)
	all := append(start3(t, base), old)
	began := time.Now()
	group.Master.Kill()
	killed := span{began, time.Now()}
	_, next := leads(t, token, others(all, old)...)
	redistest.Eventually(t, 30*time.Second, "the old leader is told", func() bool {
		old.mu.Lock()
		defer old.mu.Unlock()
		return len(old.told) > 0
	})
	var first, second *termSeen
	for _, c := range all {
		for _, term := range c.seen() {
			switch term.token {
			case token:
				first = term
			case next:
				second = term
			}
		}
	}
	if over := first.to.Sub(killed.to); over > patientLease {
		t.Errorf("the old leader led for %v after the death of the master, with a lease of %v", over, patientLease)
	}
	t.Logf("both led for %v", max(0, first.to.Sub(second.from)))
	judgeAll(t, []forgetting{{killed, patientLease}}, all...)
	for _, c := range all {
		c.end()
	}
}

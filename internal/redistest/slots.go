package redistest

import "testing"

// Migration is a slot on its way from one master to another, as redis-cli takes it
// there. The cluster serves it meanwhile: what is left of its keys at the source, the
// rest at the target.
type Migration struct {
	c        *Cluster
	slot     int64
	from, to *Server
}

// StartMigration begins to move the slot of key to another master. Finish ends it.
func (c *Cluster) StartMigration(t testing.TB, key string, to *Server) *Migration {
	t.Helper()
	c.awaitEpoch(t)
	m := &Migration{c: c, from: c.Owner(t, key), to: to}
	m.slot = to.Do(t, "CLUSTER", "KEYSLOT", key).(int64)
	// In this order: the source must not send anybody to a target that does not
	// expect them.
	m.to.Do(t, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.id(t))
	m.from.Do(t, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.to.id(t))
	return m
}

// Finish moves the keys, gives the slot to the target, and returns when all nodes
// know.
func (m *Migration) Finish(t testing.TB) {
	t.Helper()
	for {
		keys := m.from.Do(t, "CLUSTER", "GETKEYSINSLOT", m.slot, 100).([]any)
		if len(keys) == 0 {
			break
		}
		args := append([]any{"MIGRATE", "127.0.0.1", m.to.port.Number, "", 0, 5000, "KEYS"}, keys...)
		m.from.Do(t, args...)
	}
	// The target first, so that the slot is somebody's at any time. It tells the others.
	m.to.Do(t, "CLUSTER", "SETSLOT", m.slot, "NODE", m.to.id(t))
	m.from.Do(t, "CLUSTER", "SETSLOT", m.slot, "NODE", m.to.id(t))
	m.c.awaitOwner(t, m.slot, m.to)
}

// MoveSlot moves the slot of key to a master, keys included. If that has it already,
// there is nothing to do.
func (c *Cluster) MoveSlot(t testing.TB, key string, to *Server) {
	t.Helper()
	if c.Owner(t, key) != to {
		c.StartMigration(t, key, to).Finish(t)
	}
}

// awaitOwner returns when every node has the slot at owner.
func (c *Cluster) awaitOwner(t testing.TB, slot int64, owner *Server) {
	t.Helper()
	for _, n := range c.Nodes {
		Eventually(t, topologyTimeout, "all nodes know who has the slot", func() bool {
			return ownerPort(n.Do(t, "CLUSTER", "SLOTS").([]any), slot) == int64(owner.port.Number)
		})
	}
}

// awaitEpoch returns when all nodes know the latest epoch. Of two nodes that claim a
// slot the one with the higher epoch has it, and the target of a migration takes the
// highest that it knows: an old message from the source must not beat it.
func (c *Cluster) awaitEpoch(t testing.TB) {
	t.Helper()
	Eventually(t, topologyTimeout, "all nodes know the latest epoch", func() bool {
		epochs := make(map[string]bool)
		for _, n := range c.Nodes {
			epochs[lineOf(n.Do(t, "CLUSTER", "INFO").(string), "cluster_current_epoch")] = true
		}
		return len(epochs) == 1
	})
}

// ownerPort is the port of the master of a slot in a reply to CLUSTER SLOTS, 0 if it
// has none.
func ownerPort(slots []any, slot int64) int64 {
	for _, r := range slots {
		entry := r.([]any) // first slot, last slot, master, replicas
		if entry[0].(int64) <= slot && slot <= entry[1].(int64) {
			return entry[2].([]any)[1].(int64)
		}
	}
	return 0
}

// id is the name of a cluster's node within the cluster.
func (s *Server) id(t testing.TB) string {
	t.Helper()
	return s.Do(t, "CLUSTER", "MYID").(string)
}

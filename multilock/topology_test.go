package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// patience is for members whose servers have to be found first.
var patience = []multilock.Option{multilock.WithMemberLimit(realLease / 2)}

// A member may be a lock in a Cluster: several of one, in slots of their own, or one beside
// servers.
func TestMembersInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	single := startServers(t, 2)
	process := func() (inCluster *reentrant.Client, beside fleet) {
		return newClient(t, cluster.Client(t), reentrant.WithLease(realLease)), single.process(t)
	}
	a, besideA := process()
	b, besideB := process()

	t.Run("all", func(t *testing.T) {
		names := []string{"all-0", "all-1", "all-2"}
		for i, name := range names {
			cluster.MoveSlot(t, name, cluster.Nodes[i])
		}
		make := func(c *reentrant.Client) *multilock.MultiLock {
			var locks []multilock.Locker
			for _, name := range names {
				locks = append(locks, c.NewLock(name, reentrant.WithFencing()))
			}
			l, err := multilock.NewWith(locks, patience...)
			must(t, err)
			return l
		}
		// The node of the lock is what has to forget it.
		excludesAndIsLost(t, make(a), make(b), func() { cluster.Nodes[1].Do(t, "DEL", names[1]) })
		for i, name := range names {
			servers{cluster.Nodes[i]}.freeSoon(t, name)
		}
	})

	// The member whose slot has moved is one of another server, of unknown history: it is not
	// counted for a while, and then taken again.
	t.Run("quorum", func(t *testing.T) {
		make := func(c *reentrant.Client, beside fleet) *multilock.MultiLock {
			return append(beside, c).quorum(t, "quorum", patience...)
		}
		append(besideA, a).mature(t)
		append(besideB, b).mature(t)
		from := cluster.Owner(t, "quorum")
		to := cluster.Nodes[0]
		if to == from {
			to = cluster.Nodes[1]
		}
		memberChangesServer(t, make(a, besideA), make(b, besideB), func() { cluster.MoveSlot(t, "quorum", to) })
		append(single, to).freeSoon(t, "quorum")
	})
}

// A member may be a Sentinel group. After a failover it is another server.
func TestMemberBehindSentinel(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinel(t)
	single := startServers(t, 2)
	process := func() fleet {
		return append(single.process(t), newClient(t, group.Client(t), reentrant.WithLease(realLease)))
	}
	a, b := process(), process()
	t.Run("all", func(t *testing.T) {
		excludesAndIsLost(t, a.all(t, "all", patience...), b.all(t, "all", patience...),
			func() { group.Master.Do(t, "DEL", "all") })
		append(single, group.Master).freeSoon(t, "all")
	})
	a.mature(t)
	b.mature(t)
	t.Run("quorum", func(t *testing.T) {
		memberChangesServer(t, a.quorum(t, "quorum", patience...), b.quorum(t, "quorum", patience...), func() {
			group.Master.Kill()
			group.AwaitPromotion(t)
		})
		append(single, group.Replica).freeSoon(t, "quorum")
	})
}

// excludesAndIsLost takes a lock of all members through its life: held against others,
// nested, released, and lost when one member forgets it.
func excludesAndIsLost(t *testing.T, mine, theirs *multilock.MultiLock, forget func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	me, other := as(ctx, "me"), as(ctx, "other")
	must(t, mine.Lock(me))
	must(t, mine.Lock(me))
	busy := func() {
		t.Helper()
		// The first command of a cluster client comes after others, and may take too long.
		redistest.Eventually(t, soon, "the lock is found busy", func() bool {
			ok, err := theirs.TryLock(other, 0, 0)
			if ok {
				t.Fatal("two hold it")
			}
			return err == nil
		})
	}
	busy()
	must(t, mine.Unlock(me))
	busy()
	waiting := begin(func() error { return theirs.Lock(other) })
	must(t, mine.Unlock(me))
	within(t, soon, "the other gets it", waiting.done)
	must(t, waiting.err)
	must(t, theirs.Unlock(other))

	hold, err := mine.Acquire(me)
	must(t, err)
	forget()
	within(t, soon, "the loss of one member of all", hold.Lost())
	wants(t, hold.Release(me), reentrant.ErrLost)
	must(t, theirs.Lock(other)) // nothing of it is left
	must(t, theirs.Unlock(other))
}

// memberChangesServer holds a quorum of three while one of them comes to another server.
func memberChangesServer(t *testing.T, mine, theirs *multilock.MultiLock, change func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	me, other := as(ctx, "me"), as(ctx, "other")
	hold, err := mine.Acquire(me)
	must(t, err)
	nested, err := mine.Acquire(me)
	must(t, err)
	wantMembers(t, hold, 3)
	wantMembers(t, nested, 3)                                         // it has holds of its own on them
	missed := begin(func() error { return awaitFewer(ctx, hold, 3) }) // it may be over when change returns
	change()
	within(t, soon, "the member is not counted", missed.done)
	must(t, missed.err)
	if ok, err := theirs.TryLock(other, 0, 0); ok {
		// A machine that stood still for a lease may have lost it, rightly.
		t.Fatalf("others have it, %v; mine was lost before: %v, because of %v", err, over(hold.Lost()), context.Cause(hold.Context()))
	}
	wantMembers(t, hold, 3)
	if over(hold.Lost()) {
		t.Fatal("lost with a majority of its members held")
	}
	must(t, nested.Release(me))
	must(t, hold.Release(me))
	must(t, theirs.Lock(other))
	must(t, theirs.Unlock(other))
}

// awaitFewer returns when fewer members of a hold are held.
func awaitFewer(ctx context.Context, hold *multilock.Hold, than int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		held := 0
		for _, m := range hold.Members() {
			if m.Held {
				held++
			}
		}
		if held < than {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Package leader elects one of several processes, by a lock: the process that holds it leads.
//
// [Run] is all that most programs need:
//
//	err := leader.Run(ctx, client.NewLock("scheduler"), func(ctx context.Context) error {
//		return scheduler.Run(ctx) // until ctx ends
//	})
//
// # What is promised
//
// Two processes are never both told that they lead, as long as the lock keeps its promises (docs/guarantees.md): a failover of
// Redis that forgets the lock breaks them. [Election.IsLeader] asks nobody. It is false at the first look after the lease has
// passed, by a clock that counts from before the last confirmed renewal was sent. The term's ctx ends then too, as soon as the
// process runs.
//
// What a leader that was stopped can still do: a process may stand still between its look at IsLeader and its write
// (SIGSTOP, a long pause, a suspended machine). It finishes that write when it goes on, though another one leads by then:
// its first instruction runs before it looks, and before a ctx can end. Only the resource can refuse the write, by the
// fencing token ([reentrant.WithFencing], [Term.Token]).
//
// After a failover that forgot the lock another process may lead beside the old leader. The old leader is told at the next
// renewal that the new master answers, and when its lease is over at the latest.
//
// # States
//
// An Election is idle, campaigns, or leads. Campaign takes it from idle to leading. Resign, or a loss that Campaign sees, takes
// it back. Election.mu guards which it is, and is not held while Redis is asked. The package starts no goroutine: the wait for the
// lock runs on the caller's, and renewals on those of the Client. If Redis answers late, twice or never, that is the lock's
// matter: a grant that came too late is no lead.
package leader

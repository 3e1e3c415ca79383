// Package multilock makes one lock of several. They have one name on separate Redis servers, to
// outlive the loss of a server, or several names, to have them all or none.
//
// A [MultiLock] has these methods of a [reentrant.Lock]: Lock, LockLease, TryLock, Unlock, Acquire,
// Do, With. Ask its members for the holder and for how long it holds; they have ForceUnlock too.
// Package reentrant says who the owner is. The ctx of a hold covers the members: a call with it
// enters a member again, or another MultiLock for the members that both have. A MultiLock can be a
// member of another.
//
// # The two kinds
//
// [New] makes a lock that is held when every member is held. Any server that is down makes it
// unavailable, and any member that is lost makes it lost. Two owners hold it at the same time only
// if all servers forget it together.
//
// [NewQuorum] makes a lock that is held when more than half of the members are held: Redlock. Of five
// servers any two may be down. It is for independent servers without replicas. docs/multilock.md
// tells what each kind survives, what can still go wrong and what the remedies cost.
//
// # When a member counts
//
// A member of a quorum counts as long as its lease is valid, and its server is known to be the one
// that granted it. Its lease is valid by the Validity of package watchdog, from before its last
// confirmed command was sent. A hold may be trusted as long as enough members count.
// [Hold.ValidUntil] is the instant until which they will count if nothing more is heard of them.
//
// A server that was restarted may have forgotten a lock that its owner still trusts. So the server of
// every member is checked after the grant: it is asked for its run_id and its uptime (INFO). It
// counts once it has been running for the longest lease that any client may have had before
// ([WithLongestLease]). Conversely, an answer of a server is trusted for no longer than that lease.
// So a holder that is cut off has given up a restarted server before others count it. A server with
// another run_id than this MultiLock has seen before is treated as if it had just been started,
// whatever its uptime, now and later.
package multilock

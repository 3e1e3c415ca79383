// Package multilock makes one lock of several: of one name on separate Redis servers, to
// outlive the loss of a server, or of several names, to have them all or none.
//
// A [MultiLock] has these methods of a [reentrant.Lock]: Lock, LockLease, TryLock, Unlock,
// Acquire, Do, With. Who holds it, and for how long, is asked of its members, and ForceUnlock is
// theirs too. The rule of package reentrant says who the owner is. The ctx of a hold covers the
// members: a call that comes from it enters a member again, or another MultiLock for the members
// that both have. A MultiLock can be a member of another.
//
// # The two kinds
//
// [New] makes a lock that is held when every member is held. Any server that is down
// makes it unavailable, and any member that is lost makes it lost; two owners hold it
// at the same time only if all servers forget it together.
//
// [NewQuorum] makes one that is held when more than half of the members are: Redlock.
// Of five servers any two may be down. It is for independent servers without replicas.
// What each kind survives, what can still go wrong and what the remedies cost is in
// docs/multilock.md.
//
// # When a member counts
//
// A member of a quorum counts as long as its lease is valid (the Validity of package
// watchdog, from before its last confirmed command was sent) and its server is known
// to be the one that granted it. A hold may be trusted as long as enough members count:
// [Hold.ValidUntil] is the instant until which they will if nothing more is heard.
//
// A server that was restarted may have forgotten a lock that its owner still trusts. So
// every member proves itself after its grant: the server is asked for its run_id and
// its uptime (INFO), and is not counted until it has been running for the longest lease
// that anybody may have had before ([WithLongestLease]). Conversely, a server's answer
// is trusted for no longer than that lease, so a holder that is cut off has given a
// restarted server up by the time that others count it. A server with another run_id
// than this MultiLock has seen before is treated as if it had just been started, whatever
// its uptime, now and later.
//
// # How a call gets the lock
//
// In rounds (acquire.go, round.go, take.go). A round makes a single attempt on every member in
// parallel, each within the members' limit. When enough are held, or cannot be any more, the rest
// is given a moment and is then left alone. Attempts that were not answered are undone
// by the members' Clients, in the background, until Redis confirms it or the lease has
// passed.
//
// If a member is busy the call waits for the first such in a canonical order, which is
// the same for all callers (wait.go): in that member's queue, woken by its release,
// having given back what comes after it. What comes before it is kept meanwhile. Then follows
// another round. So
//
//   - MultiLocks do not wait for each other: who waits has in hand only what comes before that
//     which it waits for, whatever the order of the arguments;
//   - callers of the same members come in turn, by the queue of the first, since a quorum
//     that finds the first busy leaves the others too and gets in line (and tries without it
//     only after a while: it may be an orphan's);
//   - a call is granted although others use the members all the time, as plain locks or in other
//     sets: it waits for one member after the other.
//
// Not all keep to that order. Plain locks can be taken inside each other in another one, Redisson's
// MultiLock takes its members in the order of arguments, and addresses can be written differently.
// Such callers and a MultiLock can wait for each other. That ends by the MultiLock's patience (patience.go):
// it gives back what it has after 50 ms to 100 ms, and keeps its place in the queue of the member that
// it waits for. If the grant comes long after that, the member was merely in use: the call was too
// hasty, and has to wait for the members before it again. For that it has as much patience as the whole
// wait took, or up to twice that (a wait of more than 5 s counts as 5 s, or as twice what was kept
// through it), but for one case in two, where it tries once more with little. So
//
//   - a call takes about 3 times the sum of its members' waits at the most, where that was
//     measured: with two, three and five members that others held for 1 ms to 100 ms each
//     time. With waits of more than 5 s it can take more;
//   - waits for each other end, the first of a call after 100 ms, later ones perhaps only after
//     seconds. Where there are such waits all the time turns are few and uneven, and one call may
//     be left out for long.
//
// A call with a limit keeps members for half of what is left of it at the most. Members with a fixed
// lease are kept for half of the lease at the most, and their lease begins anew after each wait: a
// lease of less than twice the members' waits may not be granted while others use them all the
// time.
//
// The canonical order goes by what the redis clients call their servers. go-redis calls
// every Sentinel group "FailoverClient": locks of one name on several of them, like
// any whose addresses are written alike, come in the order of the arguments. Give them in
// the same order everywhere. Otherwise patience has to end the waits of callers for each
// other, and a contended lock of all changes hands a few times a second only, in uneven
// turns. They exclude each other all the same.
//
// Between rounds without a busy member (too many failed, or are in quarantine) nothing
// is held, and the pause is random.
//
// # A hold and its monitor
//
// Every hold, nested ones too, has its own holds on the members, which their Clients'
// watchdogs renew, and one goroutine, its monitor (monitor.go, maintain.go). A hold is held, then
// released or lost:
//
//	held ──> released     Release: the monitor ends, then all members are released
//	  └────> lost         too few members count: the monitor frees the rest
//
// The monitor learns from the members' contexts that one is lost, and has a timer for
// ValidUntil. In a quorum, three times in a lease, it also asks the servers who they
// are and takes again what is missing. Servers may answer
//
//   - late: each question and attempt has a limit, and what is granted later is given
//     back; a proof counts from when it was asked for;
//   - twice: not here. The scripts below take the state that is wanted;
//   - never: the member stops counting when its lease, or the trust in its server, ends.
//
// # Goroutines and mutexes
//
// The monitor is ended and waited for by Release, or ends after a loss when it has freed
// the rest, in 5 s at the most. Attempts, proofs and releases run on goroutines of
// their own, one a member, which end with their ctx; whoever starts them waits for them.
//
// record.mu guards who holds the MultiLock, Hold.mu a hold's state and members, member.mu
// what is known of a server. None is held during I/O. They are taken in the order Hold.mu of an
// outer hold, Hold.mu of an inner one, record.mu.
package multilock

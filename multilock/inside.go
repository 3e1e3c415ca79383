package multilock

// How this package works, for those who change it.
//
// # How a call gets the lock
//
// In rounds (acquire.go, round.go, take.go). A round makes a single attempt on every member in
// parallel, each within the members' limit. When enough are held, or cannot be held any more, the
// rest is given a moment and is then left alone. The members' Clients undo the attempts that were not
// answered, in the background, until Redis confirms it or the lease has passed.
//
// If a member is busy, the call waits for the first busy one in a canonical order, which is the same
// for all callers (wait.go). It waits in that member's queue, and its release wakes the call. The
// call first gives back what comes after that member in the order, and keeps what comes before. Then
// follows another round. So
//
//   - MultiLocks do not wait for each other, whatever the order of the arguments: a waiting call has
//     only members that come before the one it waits for;
//
//   - callers of the same members come in turn, by the queue of the first one. A quorum that finds the
//     first member busy leaves the others too and gets in line. It tries without the first member only
//     after a while, since that one may be an orphan's;
//
//   - a call is granted although others use the members all the time, as plain locks or in other
//     sets: it waits for one member after the other.
//
// Not all callers keep to that order. Plain locks can be taken inside each other in another one,
// Redisson's MultiLock takes its members in the order of arguments, and addresses can be written
// differently. Such callers and a MultiLock can wait for each other. The MultiLock's patience ends
// that (patience.go). It gives back what it has after 50 ms to 100 ms, and keeps its place in the
// queue of the member that it waits for. If the grant comes long after that, the member was merely in
// use. Then the call was too hasty, and has to wait for the members before it again. For that its
// patience is as long as the whole wait was, or up to twice that time. A wait of more than 5 s counts
// as 5 s, or as twice the time for which members were kept through it. In one case out of two it
// tries once more with little patience instead. So
//
//   - a call takes about 3 times the sum of its members' waits at the most. This was measured with
//     two, three and five members that others held for 1 ms to 100 ms each time. With waits of more
//     than 5 s it can take more;
//
//   - waits for each other end, the first of a call after 100 ms, later ones perhaps only after
//     seconds. Where there are such waits all the time turns are few and uneven, and one call may
//     be left out for long.
//
// A call with a limit keeps members for half of what is left of it at the most. Members with a fixed
// lease are kept for half of the lease at the most, and their lease begins anew after each wait. So a
// lease of less than twice the members' waits may not be granted while others use the members all the
// time.
//
// The canonical order goes by the names that the redis clients give their servers. go-redis calls
// every Sentinel group "FailoverClient". Locks of one name on several such groups come in the order
// of the arguments, as all locks whose addresses are written alike. Give them in the same order
// everywhere. Otherwise patience has to end the waits of callers for each other, and a contended lock
// of all changes hands a few times a second only, in uneven turns. They exclude each other all the
// same.
//
// Between rounds without a busy member (too many failed, or are in quarantine) nothing
// is held, and the pause is random.
//
// # A hold and its monitor
//
// Every hold, nested ones too, has its own holds on the members, which their Clients' watchdogs
// renew. It also has one goroutine, its monitor (monitor.go, maintain.go). A hold is held, then
// released or lost:
//
//	held ──> released     Release: the monitor ends, then all members are released
//	  └────> lost         too few members count: the monitor frees the rest
//
// The monitor learns from the members' contexts that one is lost, and has a timer for ValidUntil. In
// a quorum, three times in a lease, it also asks the servers who they are and takes again the members
// that are missing. Servers may answer
//
//   - late: each question and attempt has a limit, and what is granted later is given
//     back; a check counts from when the server was asked;
//
//   - twice: not here. The scripts of the members bring about a state, so a repetition changes nothing;
//
//   - never: the member stops counting when its lease, or the trust in its server, ends.
//
// # Goroutines and mutexes
//
// Release ends the monitor and waits for it. After a loss the monitor ends when it has freed the
// rest, in 5 s at the most. Attempts, checks of servers and releases run on goroutines of their own,
// one a member. They end with their ctx, and the goroutine that has started them waits for them.
//
// holdRecord.mu guards the holds of the MultiLock by owner, Hold.mu a hold's state and members,
// member.mu what is known of a server. None is held during I/O. They are taken in the order Hold.mu
// of an outer hold, Hold.mu of an inner one, holdRecord.mu.

package tracecheck

// Outcomes of a script, as the commands that it called show them.
const (
	granted = "granted" // acquire: the owner has the lock
	busy    = "busy"    // acquire: somebody else has it, and the client was registered if it asked for that
	kept    = "kept"    // acquire: as busy, and the free lock is kept for a client that was woken
	freed   = "freed"   // release, force
	absent  = "absent"  // release: the owner's field is not there
	done    = "done"    // leave
	set     = "set"     // count
	moved   = "moved"   // transfer
	there   = "there"   // transfer: the field was the next owner's already
	held    = "held"    // renew
	lost    = "lost"    // renew
	void    = "void"    // nothing was written: a stale command, or one that has found nothing to do
)

// Entry is what one script did with a lock.
type Entry struct {
	At      int64 // µs since the trace began
	Since   int64 // as in Run
	Kind    string
	Outcome string
	Client  string // its ID; empty for a forced release
	Number  int64  // of the command; 0 for renewals and forced releases
	Owner   string // the field; empty for a leave
	Next    string // transfer, renew: the field of the next owner; may be empty
	Owners  []string
	Epoch   bool  // the command sets the epoch
	Lease   int64 // µs
	Claim   int64 // acquire: µs; 0: no grant is asked for
	Asks    bool  // acquire: to be registered
	Theirs  bool  // acquire: a lock that is kept for Redisson may be taken
	Stood   bool  // acquire: somebody had the lock before
	Nonce   string
	Passed  *Passing // release, leave, force: the lock was free afterwards, and passed on
	Turn    *Turn    // the turn as the script leaves it; nil: as it was
	Run     *Run     // for messages
}

// Passing is to whom a script has passed the lock on.
type Passing struct {
	Popped []string // clients that were taken out of the registry
	To     string   // the client that was granted the lock; empty: nobody
	Owner  string   // its field
	Nonce  string   // that was published
}

// Turn is for whom a free lock is kept: a client, * for Redisson, or nobody.
type Turn struct {
	Client string
	For    int64 // µs
}

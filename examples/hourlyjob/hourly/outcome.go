package hourly

// Outcome is what came of a run.
type Outcome int

const (
	// Unavailable: Redis did not say whether the hour is done or being done, until ctx
	// ended, and nothing was run. The error says why. Whoever would rather run twice than
	// not at all runs the work now.
	Unavailable Outcome = iota
	// Ran: the work succeeded here and the hour is marked as done. An error beside it
	// says that the lock was lost meanwhile, so that the work may run twice, or that the
	// lock is freed only by the end of its lease.
	Ran
	// Done: it was done before, or another node did it while this one stood by.
	Done
	// Failed: the work failed here, for the error's reason; the lock is free for another
	// node.
	Failed
	// Busy: another node was still at work when StandBy ended or, with an error, ctx's deadline came.
	Busy
	// Exhausted: the hour is not done, and all attempts are used up.
	Exhausted
	// Unmarked: the work succeeded here, and Redis could not be told. Another node may do
	// it again.
	Unmarked
)

var outcomes = [...]string{"unavailable", "ran", "done", "failed", "busy", "exhausted", "unmarked"}

func (o Outcome) String() string { return outcomes[o] }

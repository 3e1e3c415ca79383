package watchdog

import "time"

// Config sets how a Watchdog renews.
type Config struct {
	// Lease is what a renewal sets. It must be positive. Leases are renewed after a third of it;
	// below 100 ms there is little room for a second try.
	Lease time.Duration

	// Renew asks Redis. It must be set.
	Renew RenewFunc

	// Batch is how many targets one call of Renew gets at most while renewals are in time; 500 if not
	// positive. 200 to 1000 keep one script under about 3 ms of Redis' time.
	Batch int

	// Growth is how many batches one call gets at most when renewals are late: more are due than
	// calls of one batch can renew. 8 if not positive. Set 1, for no growth, where Renew takes longer
	// with more targets.
	Growth int

	// OnFailure is optional. It is told how many targets of one call could not be renewed and will be
	// tried again, and the first error. It is called from the watchdog's goroutine and must not
	// block.
	OnFailure func(targets int, err error)
}

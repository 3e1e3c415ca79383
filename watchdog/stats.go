package watchdog

// Stats counts what happened since New.
type Stats struct {
	Calls    uint64 // calls of the RenewFunc
	Renewals uint64 // leases renewed
	Failures uint64 // leases not renewed by one call, for any reason but NotOwner
	Losses   uint64 // leases reported lost
}

// Stats returns the counters. Each is exact; together they are not of one instant.
func (w *Watchdog) Stats() Stats {
	return Stats{
		Calls:    w.calls.Load(),
		Renewals: w.renewals.Load(),
		Failures: w.failures.Load(),
		Losses:   w.losses.Load(),
	}
}

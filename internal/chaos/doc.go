// Package chaos torments several Clients and their server for a given time, by a schedule
// drawn from a seed, on plain, read-write and fair locks, and has the oracles judge what they did.
//
// A run is a row of rounds. In the stormy part of a round workers take and release locks in
// every way that there is while the nemesis strikes: at the server (stopped, killed and
// restarted with and without its data, full, busy, read-only) and, client by client, at what
// goes over the wire. Then all faults end; everybody who waits must get the lock, and all
// must be left tidy. The round's history is judged and dropped, so a run may last for hours.
//
//	make chaos                                  # a minute
//	make chaos CHAOS='-for 1h -seed 42'         # an hour, with the schedule of seed 42
//	make chaos CHAOS='-kinds rw,fair'           # without plain locks
//	make chaos CHAOS='-picture p.html -history h.jsonl'
//
// The seed repeats the schedule of faults and the workers' choices, not the interleaving:
// a violation that depends on that may want several runs.
//
// To add a fault, add a row to serverKinds or clientKinds.
package chaos

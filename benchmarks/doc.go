//go:build unix

// Benchmarks measures Redlatch beside other locks on Redis: redsync, bsm/redislock,
// rueidislock, Redisson in a JVM, and two bare EVALSHA for what the wire costs; and beside
// those of other servers, etcd and PostgreSQL. All run in turns against one server of a
// kind, which the program starts, and each in processes of its own. From the project's
// root:
//
//	go run -C benchmarks . -quick                 # two minutes, to see that all works
//	go run -C benchmarks . -json result.json -plots plots
//	make bench                                    # all of it, into docs/benchmarks.md
//	go run -C benchmarks . -only 'one-process|hand-off' -peers redlatch,rueidislock
//	go run -C benchmarks . -from result.json -plots plots
//
// -C has the files of -json, -plots and -markdown count from this directory. It is a module of
// its own, so that nobody who uses Redlatch gets the other libraries with it.
//
// It needs redis-server in PATH, and for Redisson a JVM and the program of
// examples/redisson (mvn -q -B package there), for the others etcd in PATH and the programs
// of PostgreSQL, which root runs as the user postgres. What is missing is left out, and the
// output says so. docs/benchmarks.md says what each workload does.
//
// # What is measured
//
// The wait for a lock, from the call to the grant, of each acquisition in a window of
// time, on one monotonic clock for all processes. Waits that the end of the window cuts
// off are counted with what they had lasted, or a library could look fast by never
// serving most of its callers. Commands and EVALSHA are Redis' own counters (INFO
// commandstats), in which commands called by scripts count too. Evenness is Jain's
// index over the goroutines' acquisitions: 1 is even, 1/n is one for all. Rounds of all
// peers follow each other; the table has the median of the rounds.
//
// Mutual exclusion is checked in every run, by a counter in memory that all processes
// share, or for Redisson from the times of its holds. Readers may be together, and not
// with a writer. A run that sees two holders prints no figures and fails.
//
// The workloads of scale (crowd, crowd-spread, churn, many-held, many-readers) are run at a tenth of
// their size and in full, by Redlatch alone, with this process as the other client whose
// PINGs are timed meanwhile.
//
// Redisson's hand-off comes from two threads in two JVMs that ask again at once: only
// passes to the other JVM count. The Go libraries ask again when the other has had the
// lock, so that none of them can look fast by taking it back.
package main

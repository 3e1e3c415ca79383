package chaos

import (
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

const ms = time.Millisecond

// serverKinds are the faults of the server. Only one of them is on at a time. After those
// that make Redis forget there is a gap, so that nothing excuses who is not told of it.
//
// A child process that is stopped past its lease would be one more row.
var serverKinds = []*kind{
	{name: "stop", weight: 6, least: 10 * ms, most: 80 * ms, strike: stop},
	{name: "stop past the lease", weight: 4, least: lease + 50*ms, most: 2 * lease, outlasts: true, strike: stop},
	{name: "kill, restart with its data", weight: 4, least: 1 * ms, most: 300 * ms, outlasts: true, unseen: true, strike: restart},
	{name: "kill, restart without its data", weight: 2, least: 1 * ms, most: 200 * ms, outlasts: true, forgets: true, unseen: true, gap: lease,
		prepare: func(r *round, _ strike) { r.releaseKept() }, strike: forget},
	{name: "force", weight: 6, least: 1 * ms, most: 2 * ms, gap: lease, forgets: true, oneLock: true, prepare: findHolder, strike: force},
	{name: "script flush", weight: 4, least: 5 * ms, most: 100 * ms, strike: scriptFlush},
	{name: "client kill pubsub", weight: 5, least: 1 * ms, most: 2 * ms, strike: command("CLIENT", "KILL", "TYPE", "pubsub")},
	{name: "client kill normal", weight: 5, least: 1 * ms, most: 2 * ms, unseen: true, strike: command("CLIENT", "KILL", "TYPE", "normal")},
	{name: "client pause", weight: 4, least: 10 * ms, most: 400 * ms, strike: clientPause},
	{name: "busy script", weight: 4, least: 60 * ms, most: 700 * ms, unseen: true, strike: busyScript},
	{name: "full", weight: 4, least: 20 * ms, most: 700 * ms, unseen: true, strike: full},
	{name: "read-only", weight: 3, least: 10 * ms, most: 500 * ms, unseen: true, strike: readOnly},
}

// stop is SIGSTOP: connections stay open, nothing is answered.
func stop(r *round, s strike) {
	r.server.Stop()
	r.wait(s.lasts)
	r.server.Continue()
}

// restart is kill -9. Every write was on disk before it was answered.
func restart(r *round, s strike) {
	r.server.Kill()
	r.wait(s.lasts)
	r.server.Restart()
}

// forget is a restart of a server without persistence. What is kept back on the way has run
// before: a release that arrives after the epoch that voids it was forgotten too would free
// a lock that is held.
func forget(r *round, s strike) {
	r.server.Kill()
	r.server.RemoveAOF()
	r.wait(s.lasts)
	r.server.Restart()
}

// findHolder waits for somebody to force the lock from, and has him keep it.
func findHolder(r *round, s strike) {
	lock := s.lock
	r.linger.Store(&lock)
	for begun := time.Now(); time.Since(begun) < lease && !r.isHeld(lock) && r.wait(ms/2); {
	}
}

// force is an operator who frees a lock that somebody holds and works with: the holder is
// to be told, and not to renew what others have by now.
func force(r *round, s strike) {
	defer r.linger.Store(nil)
	if err := r.forceUnlock(s.lock); err != nil {
		r.tb.Errorf("chaos: ForceUnlock(%q) on a server that was not struck: %v", s.lock, err)
	}
}

func scriptFlush(r *round, s strike) {
	for end := time.Now().Add(s.lasts); time.Now().Before(end) && r.wait(5*ms); {
		r.admin("SCRIPT", "FLUSH")
	}
}

func command(args ...any) func(*round, strike) {
	return func(r *round, _ strike) { r.admin(args...) }
}

func clientPause(r *round, s strike) {
	args := []any{"CLIENT", "PAUSE", s.lasts.Milliseconds()}
	if s.seed%2 == 0 && redistest.AtLeast(r.tb, "6.2") { // before, all are paused
		args = append(args, "WRITE")
	}
	r.admin(args...)
	r.sit(s.lasts + 10*ms) // nothing can end it but time
}

// busyScript is somebody else's endless script. After a while Redis answers all others
// with BUSY, until the script is killed.
func busyScript(r *round, s strike) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.server.Admin().Eval(r.always, "while true do end", nil) // its error is that it was killed
	}()
	r.wait(s.lasts)
	for {
		r.server.Admin().ScriptKill(r.always) // refused until Redis has noticed that it is busy
		select {
		case <-ended:
			return
		case <-time.After(5 * ms):
		}
	}
}

func full(r *round, s strike) {
	r.admin("CONFIG", "SET", "maxmemory", 1)
	r.wait(s.lasts)
	r.admin("CONFIG", "SET", "maxmemory", 0)
}

// readOnly is what clients see of a master that was demoted. It follows a master that does
// not exist, so it keeps its data.
func readOnly(r *round, s strike) {
	r.admin("REPLICAOF", "127.0.0.1", 1)
	r.wait(s.lasts)
	r.admin("REPLICAOF", "NO", "ONE")
}

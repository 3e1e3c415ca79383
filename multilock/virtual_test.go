package multilock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// lease is the lease of the Clients of virtual servers.
const lease = time.Second

// virtual is several servers in a bubble whose time passes only while everybody
// sleeps: a lease of an hour takes milliseconds, and an instant is exact.
type virtual struct {
	t   *testing.T
	ctx context.Context
	s   []*virtualServer
}

// virtualServer is a miniredis that says who it is, which miniredis does not, and that
// can be refused, silenced and restarted.
type virtualServer struct {
	*miniredis.Miniredis
	number int
	rdb    *redis.Client

	mu      sync.Mutex
	runs    int              // guarded by mu; how often it was started
	started time.Time        // guarded by mu
	refusal string           // guarded by mu; what every command is answered
	silent  chan struct{}    // guarded by mu; while not nil nothing is answered until it is closed
	sent    map[string]int   // guarded by mu
	mute    bool             // does not know INFO; guarded by mu
	onSent  func(cmd string) // sees every command before it is executed; guarded by mu
}

// inVirtualTime runs f in a bubble with n servers that have been running for a day.
func inVirtualTime(t *testing.T, n int, f func(t *testing.T, v *virtual)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &virtual{t: t, ctx: t.Context()}
		for i := range n {
			v.s = append(v.s, newVirtualServer(t, i))
		}
		f(t, v)
	})
}

func newVirtualServer(t *testing.T, number int) *virtualServer {
	m, rdb := redistest.Mini(t)
	// The server is there with the first connection, and takes a hook then.
	must(t, rdb.Ping(t.Context()).Err())
	s := &virtualServer{
		Miniredis: m, number: number, rdb: rdb,
		runs: 1, started: time.Now().Add(-24 * time.Hour), sent: make(map[string]int),
	}
	m.Server().SetPreHook(s.answer)
	return s
}

// answer is asked before each command, and reports whether it has answered it.
func (s *virtualServer) answer(p *server.Peer, cmd string, _ ...string) bool {
	s.mu.Lock()
	onSent := s.onSent
	s.mu.Unlock()
	if onSent != nil {
		onSent(cmd)
	}
	s.mu.Lock()
	s.sent[cmd]++
	refusal, silent, mute := s.refusal, s.silent, s.mute
	info := fmt.Sprintf("# Server\r\nrun_id:%d-%d\r\nuptime_in_seconds:%d\r\n", s.number, s.runs, int(time.Since(s.started).Seconds()))
	s.mu.Unlock()
	if silent != nil {
		<-silent
	}
	switch {
	case refusal != "":
		p.WriteError(refusal)
	case cmd == "INFO" && !mute:
		p.WriteBulk(info)
	default:
		return false
	}
	return true
}

// restart is the restart of a server that keeps nothing.
func (s *virtualServer) restart() {
	s.FlushAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	s.started = time.Now()
}

// replace makes it another server, as old as the first, with the same data.
func (s *virtualServer) replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
}

// refuse has the server answer every command with an error; "" ends that.
func (s *virtualServer) refuse(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = text
}

// silence has the server answer nothing until the function it returns is called, when
// it does what it was sent meanwhile.
func (s *virtualServer) silence() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent := make(chan struct{})
	s.silent = silent
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silent = nil
		close(silent)
	}
}

// watch has f see every command before it is executed.
func (s *virtualServer) watch(f func(cmd string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onSent = f
}

// commands returns how many commands of that name were sent since the last call.
func (s *virtualServer) commands(cmd string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.sent[cmd]
	s.sent[cmd] = 0
	return n
}

// process makes a Client on each of the servers, all without an argument, on
// connections of its own, as another process would.
func (v *virtual) process(servers ...int) fleet {
	return v.processWith(servers, reentrant.WithLease(lease))
}

func (v *virtual) processWith(servers []int, opts ...reentrant.Option) (f fleet) {
	v.t.Helper()
	if len(servers) == 0 {
		for i := range v.s {
			servers = append(servers, i)
		}
	}
	for _, i := range servers {
		rdb := redistest.MiniClient(v.t, v.s[i].Miniredis, func(o *redis.Options) {
			o.Addr = fmt.Sprintf("10.0.0.%d:6379", i+1) // never dialled
		})
		f = append(f, newClient(v.t, rdb, opts...))
	}
	return f
}

// holders says of each server who holds the lock there, 0 for nobody: the number of
// the process.
func (v *virtual) holders(name string, processes ...fleet) string {
	v.t.Helper()
	s := ""
	for _, server := range v.s {
		fields, _ := server.HKeys(name)
		who := "-"
		for n, process := range processes {
			for _, c := range process {
				if len(fields) == 1 && fields[0][:len(c.ID())] == c.ID() {
					who = string(rune('A' + n))
				}
			}
		}
		if len(fields) > 0 && who == "-" {
			who = "?"
		}
		s += who
	}
	return s
}

// wantHolders checks holders.
func (v *virtual) wantHolders(want, name string, processes ...fleet) {
	v.t.Helper()
	if got := v.holders(name, processes...); got != want {
		v.t.Errorf("holders are %s, want %s", got, want)
	}
}

// pass lets time pass, and whatever happens then come to rest.
func (v *virtual) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

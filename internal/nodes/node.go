package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/reentrant"
)

// variable makes a test binary a node.
const variable = "REDLATCH_NODE"

// hung is the key of the node whose run hangs: the first that has written it.
const hung = "hung"

// Spec is what a node is told at its start.
type Spec struct {
	Redis   string // address
	Name    string // of the node
	How     string // a way to start, if the adapter has more than one
	Dir     string // what the nodes share besides Redis
	Lease   time.Duration
	MinHold time.Duration
	Hang    bool // the first run of all nodes does not end
}

// Run is one run of the job.
type Run struct {
	Node  string
	Began time.Time // by the wall clock, which all processes of this machine share
	Hangs bool
}

// Start is what a node does: it calls job under a lock of client, once or at every full second. If that needs a scheduler
// it waits until ctx ends, and stops the scheduler.
type Start func(ctx context.Context, s Spec, client *reentrant.Client, job func()) error

// Main runs the tests, which must leave no goroutine behind, and exits. In a node it calls begin instead.
func Main(m *testing.M, begin Start) {
	logging.Disable()
	text := os.Getenv(variable)
	if text == "" {
		leaktest.Main(m)
		return
	}
	if err := serve(text, begin); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is a node until its parent closes the pipe.
func serve(text string, begin Start) error {
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(s.Lease))
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	go func() { // ends with the pipe, before the process does
		io.Copy(io.Discard, os.Stdin)
		end()
	}()
	n := &node{spec: s, rdb: rdb, out: json.NewEncoder(os.Stdout)}
	if err := begin(ctx, s, client, n.job); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return client.Close(limit)
}

// node is a node from within.
type node struct {
	spec Spec
	rdb  *redis.Client
	mu   sync.Mutex // for out: a scheduler may run a job beside itself
	out  *json.Encoder
}

// job tells that it runs. It takes no time, or all of it.
func (n *node) job() {
	r := Run{Node: n.spec.Name, Began: time.Now()}
	r.Hangs = n.spec.Hang && n.rdb.SetNX(context.Background(), hung, n.spec.Name, 0).Val()
	n.tell(r)
	if r.Hangs {
		select {} // until the process is killed
	}
}

func (n *node) tell(r Run) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.out.Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
	}
}

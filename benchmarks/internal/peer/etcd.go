//go:build unix

package peer

import (
	"context"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// etcd serves a watch that begins with a revision of the past, as that of each waiter
// does, from a loop that runs every 100 ms.
var (
	etcdPeer = Peer{
		Name:     "etcd",
		Settings: "concurrency.Mutex on one etcd, which syncs each change to disk; sessions of 30 s, renewed, one for each goroutine that has a lock or waits",
		Special:  true, LongWaits: true,
		On:   server.Kind{Program: server.Etcd},
		Open: openEtcd,
	}
	etcdNoFsync = Peer{
		Name:     "etcd-no-fsync",
		Settings: "the same with --unsafe-no-fsync",
		Special:  true, LongWaits: true,
		On:   server.Kind{Program: server.Etcd, NoFsync: true},
		Open: openEtcd,
	}
)

// etcdLease is the lease of a session, in seconds.
const etcdLease = 30

// etcdClient keeps sessions that nobody uses at the moment. To a Mutex the session is
// the owner: two goroutines with one session would both get the lock.
type etcdClient struct {
	client *clientv3.Client

	mu   sync.Mutex
	idle []*concurrency.Session // guarded by mu
}

func openEtcd(addr string) (Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}})
	if err != nil {
		return nil, err
	}
	client.KV = awaited{client.KV}
	return &etcdClient{client: client}, nil
}

// awaited has each attempt end with its answer, so that ctx ends only the wait for others.
// A Mutex does not clean up behind an attempt without one: its key may be there, or come
// yet, and would hold the lock until the session ends.
type awaited struct{ clientv3.KV }

func (kv awaited) Txn(ctx context.Context) clientv3.Txn {
	return kv.KV.Txn(context.WithoutCancel(ctx))
}

func (c *etcdClient) Lock(name string) Lock { return &etcdLock{client: c, name: name} }

func (c *etcdClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, session := range c.idle {
		_ = session.Close() // its lease ends by itself
	}
	c.idle = nil
	return c.client.Close()
}

// session is one that no other goroutine has.
func (c *etcdClient) session() (*concurrency.Session, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		session := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return session, nil
	}
	c.mu.Unlock()
	return concurrency.NewSession(c.client, concurrency.WithTTL(etcdLease))
}

// giveBack keeps a session, unless it has ended.
func (c *etcdClient) giveBack(session *concurrency.Session) {
	select {
	case <-session.Done():
		return
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, session)
}

type etcdLock struct {
	client  *etcdClient
	name    string
	session *concurrency.Session
	held    *concurrency.Mutex
}

// released is the key of a Mutex that has removed its own.
const released = "\x00"

func (l *etcdLock) Acquire(ctx context.Context) (err error) {
	if l.session, err = l.client.session(); err != nil {
		return err
	}
	l.held = concurrency.NewMutex(l.session, l.name)
	if err = l.held.Lock(ctx); err == nil {
		return nil
	}
	if l.held.Key() != released {
		_ = l.session.Close() // and the key with it
	} else {
		l.client.giveBack(l.session)
	}
	return err
}

func (l *etcdLock) Release(ctx context.Context) error {
	err := l.held.Unlock(ctx)
	if err != nil {
		_ = l.session.Close()
		return err
	}
	l.client.giveBack(l.session)
	return nil
}

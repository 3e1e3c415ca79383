// Httpguard serves orders from two nodes, one request for an order at a time, and shows
// what clients get:
//
//	go run ./examples/httpguard
//	go run ./examples/httpguard -listen localhost:8080
//
// With -listen it goes on serving, for curl. Redis is a miniredis inside this process, or
// the server of REDIS_URL, where no key is left behind.
//
// The middleware is package httpguard of the library, which says what it promises and what not, and
// in handler.go how a handler uses the ctx that it is given.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

const (
	// lease is how long an order is locked after its node has died. The default is 30 s.
	lease = 3 * time.Second
	// wait is how long a request waits for its order.
	wait = 2 * time.Second
)

func main() {
	listen := flag.String("listen", "", "`address` on which to go on serving")
	flag.Parse()
	demo.Main("httpguard", func(ctx context.Context, out io.Writer, redisURL string) error {
		return run(ctx, out, redisURL, *listen)
	})
}

// example is three nodes, the last of which cannot reach Redis.
type example struct {
	rdb    *demo.Redis
	log    *demo.Log
	prefix string
	nodes  []*node
	client http.Client
}

func run(ctx context.Context, out io.Writer, redisURL, listen string) (err error) {
	rdb, err := demo.Open(ctx, redisURL)
	if err != nil {
		return err
	}
	defer rdb.Close()
	e := &example{rdb: rdb, log: demo.NewLog(out), prefix: "order-" + uuid.NewString()[:8] + ":"}
	e.client.Transport = &http.Transport{}
	// Without go-redis' retries, so as not to make people wait for what is known.
	away := redis.NewClient(&redis.Options{Dialer: refuse, MaxRetries: -1, DialerRetries: 1})
	defer away.Close()
	defer func() { err = errors.Join(err, e.close(ctx)) }()
	for _, n := range []struct {
		rdb    *redis.Client
		listen string
	}{{rdb.Client, listen}, {rdb.Client, ""}, {away, ""}} {
		node, err := serve(n.rdb, e.prefix, n.listen)
		if err != nil {
			return err
		}
		e.nodes = append(e.nodes, node)
	}
	e.log.Printf("Two nodes on loopback, and Redlatch on %s.", rdb)
	e.log.Printf("An order is locked while its handler runs; a request waits %v at most.", wait)
	if listen != "" {
		return e.listen(ctx)
	}
	for _, show := range []func(context.Context) error{
		e.turns, e.locked, e.nested, e.badID, e.panics, e.disconnect, e.lost, e.unreachable,
	} {
		if err := show(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			return err
		}
	}
	e.log.End()
	return nil
}

// close ends the nodes and removes what they may have left in Redis.
func (e *example) close(ctx context.Context) error {
	e.client.CloseIdleConnections()
	var errs []error
	for _, n := range e.nodes {
		errs = append(errs, n.close(ctx), e.rdb.Forget(ctx, n.locks.ID(), e.keys()...))
	}
	return errors.Join(errs...)
}

// listen serves until ctx ends.
func (e *example) listen(ctx context.Context) error {
	e.log.Section("curl -i '%s/orders/42?work=10s' holds the lock for 10 s. Meanwhile, elsewhere:", e.nodes[0].url)
	e.log.Printf("curl -i '%s/orders/42'   423, from another node", e.nodes[1].url)
	e.log.Printf("curl -i '%s/orders/43'   200\ncurl -i '%s/orders/4.3'  400", e.nodes[0].url, e.nodes[0].url)
	e.log.Printf("\nCtrl-C ends it.")
	<-ctx.Done()
	return nil
}

// refuse dials as if nobody listened.
func refuse(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connection refused")
}

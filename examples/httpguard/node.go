package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/reentrant"
)

// node is one server, with a Client of its own.
type node struct {
	url     string
	prefix  string
	locks   *reentrant.Client
	server  *http.Server
	served  chan error
	entered chan string // the orders whose handler has begun, for the one who looks
}

func serve(rdb *redis.Client, prefix, listen string) (*node, error) {
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	n := &node{url: "http://" + listener.Addr().String(), prefix: prefix, served: make(chan error, 1), entered: make(chan string, 1)}
	if n.locks, err = reentrant.New(rdb, reentrant.WithLease(lease)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	g := &httpguard.Guard{
		Client:     n.locks,
		ID:         func(r *http.Request) string { return r.PathValue("id") },
		Prefix:     prefix,
		Wait:       wait,
		RetryAfter: 5 * time.Second,
	}
	mux := http.NewServeMux()
	mux.Handle("/orders/{id}", g.Wrap(http.HandlerFunc(n.settle)))
	n.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // panics, which are part of the show
	}
	go func() { n.served <- n.server.Serve(listener) }()
	return n, nil
}

// enter tells that the handler of an order has begun, if anybody wants to know.
func (n *node) enter(id string) {
	select {
	case n.entered <- id:
	default:
	}
}

// close ends the server first and then the Client, as a program does: requests that are
// being served release their locks.
func (n *node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := n.server.Shutdown(ctx)
	if served := <-n.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, n.locks.Close(ctx))
}

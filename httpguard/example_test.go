package httpguard_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/reentrant"
)

// Two requests for order 42 are served one after the other, on whichever server they arrive.
func Example() {
	redisServer, err := miniredis.Run() // in a program: its Redis
	if err != nil {
		log.Fatal(err)
	}
	defer redisServer.Close()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}

	guard := &httpguard.Guard{
		Client: client,
		ID:     func(r *http.Request) string { return r.PathValue("id") },
		Prefix: "order:",
		Wait:   2 * time.Second,
	}
	settle := func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context() // ends if the lock is lost
		fmt.Println("settling order", r.PathValue("id"), ctx.Err())
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}", guard.Wrap(http.HandlerFunc(settle)))
	server := httptest.NewServer(mux)
	resp, err := http.Post(server.URL+"/orders/42", "text/plain", nil)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	// The server first: its handlers need the Client.
	server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// settling order 42 <nil>
	// 200 OK
}

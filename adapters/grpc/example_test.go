package redlatchgrpc_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"

	redlatchgrpc "github.com/redlatch/redlatch/adapters/grpc"
	"github.com/redlatch/redlatch/reentrant"
)

// Two calls for order 42 are handled one after the other, on whichever server they arrive. gRPC's health service stands
// for that of a program.
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

	guard := &redlatchgrpc.Guard{
		Client: client,
		ID: func(_ context.Context, _ string, req any) string {
			if req, ok := req.(*health.HealthCheckRequest); ok { // in a program: those with an order
				return req.Service
			}
			return "" // no lock
		},
		Prefix: "order:",
		Wait:   2 * time.Second,
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(guard.Unary()), grpc.ChainStreamInterceptor(guard.Stream()))
	health.RegisterHealthServer(server, health.UnimplementedHealthServer{})
	// server.Serve(listener), until the program ends

	// What gRPC does with a call.
	resp, err := guard.Unary()(context.Background(), &health.HealthCheckRequest{Service: "42"}, &grpc.UnaryServerInfo{},
		func(ctx context.Context, _ any) (any, error) { // ctx ends if the lock is lost
			return "settled", ctx.Err()
		})
	fmt.Println(resp, err)

	// The server first: its handlers need the Client.
	server.GracefulStop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: settled <nil>
}

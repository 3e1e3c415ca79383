package redlatchgrpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	redlatchgrpc "github.com/redlatch/redlatch/adapters/grpc"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) {
	logging.Disable()
	leaktest.Main(m)
}

// shop is a guarded server. It is gRPC's health service, which has a unary call and a stream; the service that is asked
// for is the order.
type shop struct {
	health.UnimplementedHealthServer
	client health.HealthClient
	locks  *reentrant.Client
	handle func(ctx context.Context) error
	log    lines
}

func (s *shop) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	return &health.HealthCheckResponse{}, s.handle(ctx)
}

func (s *shop) Watch(_ *health.HealthCheckRequest, stream health.Health_WatchServer) error {
	return s.handle(stream.Context())
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// orderID is in the request of a unary call, and in the metadata of a stream.
func orderID(ctx context.Context, _ string, req any) string {
	if req, ok := req.(*health.HealthCheckRequest); ok {
		return req.Service
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(md.Get("order"), "")
}

// open serves with a Client of its own.
func open(t *testing.T, rdb *redis.Client, wait time.Duration, handle func(context.Context) error) *shop {
	t.Helper()
	locks, err := reentrant.New(rdb, reentrant.WithLease(3*time.Second), reentrant.WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{locks: locks, handle: handle}
	guard := &redlatchgrpc.Guard{
		Client: locks, ID: orderID, Prefix: "order:", Wait: wait, RetryAfter: 2 * time.Second,
		Options: []reentrant.LockOption{reentrant.WithFencing()},
		Logger:  slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(guard.Unary()), grpc.StreamInterceptor(guard.Stream()))
	health.RegisterHealthServer(server, s)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	s.client = health.NewHealthClient(conn)
	t.Cleanup(func() {
		conn.Close()
		server.GracefulStop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Errorf("a lock was left: %v", err)
		}
	})
	return s
}

// unary asks for an order by a unary call.
func (s *shop) unary(ctx context.Context, id string) error {
	_, err := s.client.Check(ctx, &health.HealthCheckRequest{Service: id})
	return err
}

// stream asks for an order by a stream, and waits for its end.
func (s *shop) stream(ctx context.Context, id string) error {
	stream, err := s.client.Watch(metadata.AppendToOutgoingContext(ctx, "order", id), &health.HealthCheckRequest{})
	if err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

// retryAfter is what RetryInfo says; 0 if there is none.
func retryAfter(err error) time.Duration {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.RetryDelay.AsDuration()
		}
	}
	return 0
}

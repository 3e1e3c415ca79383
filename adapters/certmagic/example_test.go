package redlatchcertmagic_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/caddyserver/certmagic"
	"github.com/redis/go-redis/v9"

	redlatchcertmagic "github.com/redlatch/redlatch/adapters/certmagic"
	"github.com/redlatch/redlatch/reentrant"
)

// The storage of all machines, files on a network here, with locks in Redis.
func Example() {
	server, err := miniredis.Run() // in a program: its Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	files := &certmagic.FileStorage{Path: os.TempDir()}

	storage := redlatchcertmagic.New(files, client)
	certmagic.Default.Storage = storage // and then certmagic.HTTPS, or certmagic.NewDefault

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := storage.Lock(ctx, "issue_cert_example.com"); err != nil { // as certmagic does
		log.Fatal(err)
	}
	free, err := storage.TryLock(ctx, "issue_cert_example.com")
	fmt.Println("free:", free, err)
	if err := storage.Unlock(ctx, "issue_cert_example.com"); err != nil {
		log.Fatal(err)
	}
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: free: false <nil>
}

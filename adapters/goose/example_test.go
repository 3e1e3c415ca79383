package redlatchgoose_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"testing/fstest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/pressly/goose/v3"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	redlatchgoose "github.com/redlatch/redlatch/adapters/goose"
	"github.com/redlatch/redlatch/reentrant"
)

// Every machine runs this at its start; one migrates, and the others wait and find it done.
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
	db, err := sql.Open("sqlite", "file::memory:?cache=shared")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	files := fstest.MapFS{"1_orders.sql": {Data: []byte("-- +goose Up\nCREATE TABLE orders (id INTEGER);")}}

	// The machines wait for a minute at most.
	locker := redlatchgoose.New(client.NewLock("shop:migrations").With(reentrant.WithWait(time.Minute)))
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithLocker(locker))
	if err != nil {
		log.Fatal(err)
	}
	results, err := provider.Up(context.Background())
	fmt.Println(len(results), "migration, error:", err)

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: 1 migration, error: <nil>
}

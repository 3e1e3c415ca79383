// This program runs one fragment of the documents. TestCode lays it and the fragments
// into one directory.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// fragments has the fragments by their place in the documents.
var fragments = map[string]any{}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1], strings.Fields(os.Getenv("DOCS_SERVERS"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run calls the fragment with a lock on the first of the servers, and one on each. A
// fragment that settles something has to hold what it says it holds meanwhile.
func run(ctx context.Context, fragment string, servers []string) error {
	var clients []*reentrant.Client
	var locks []multilock.Locker
	for _, addr := range servers {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer rdb.Close()
		client, err := reentrant.New(rdb)
		if err != nil {
			return err
		}
		defer client.Close(ctx)
		clients = append(clients, client)
		locks = append(locks, client.NewLock("order:42"))
	}
	db := sql.OpenDB(database{})
	defer db.Close()
	lock := clients[0].NewLock("order:42")
	settled := 0
	settle := func(ctx context.Context) error {
		settled++
		return ctx.Err()
	}

	switch f := fragments[fragment].(type) {
	case func(context.Context, *sql.DB, *reentrant.Client, *reentrant.Lock, []multilock.Locker, func(context.Context) error) error:
		if err := f(ctx, db, clients[0], lock, locks, settle); err != nil {
			return err
		}
		if locked, err := lock.IsLocked(ctx); err != nil || locked {
			return fmt.Errorf("the fragment leaves the lock taken: %v, %w", locked, err)
		}
		fmt.Println("settled", settled)
		return nil
	case func(context.Context, *sql.DB, *reentrant.Client, *reentrant.Lock, []multilock.Locker, func(context.Context) error) (*reentrant.Client, error):
		client, err := f(ctx, db, clients[0], lock, locks, settle)
		if err != nil {
			return err
		}
		err = client.NewLock("order:42").Do(ctx, settle)
		return errors.Join(err, client.Close(ctx))
	default:
		return fmt.Errorf("no fragment %q", fragment)
	}
}

// database is one that does whatever it is told.
type database struct{ driver.Conn }

func (d database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d database) Driver() driver.Driver                        { return nil }
func (d database) Close() error                                 { return nil }

// ExecContext says that one row was changed.
func (d database) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

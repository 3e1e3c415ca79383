//go:build unix

package peer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

var (
	postgresPeer = Peer{
		Name: "postgresql",
		Settings: fmt.Sprintf("pg_advisory_lock and pg_advisory_unlock on a connection that is kept in between, by pgx from a pool of up to %d; "+
			"the server as it is by default: 100 connections, all data synced to disk", postgresConns),
		Special: true,
		On:      server.Kind{Program: server.Postgres},
		Open:    openPostgres,
	}
	postgresNoFsync = Peer{
		Name:     "postgresql-no-fsync",
		Settings: "the same with fsync=off, synchronous_commit=off; an advisory lock is in memory alone, so this is to show that it makes no difference",
		Special:  true,
		On:       server.Kind{Program: server.Postgres, NoFsync: true},
		Open:     openPostgres,
	}
)

// postgresConns is how many goroutines of a process can have a lock or wait at the same
// time; the others wait for a connection.
const postgresConns = 64

type postgresClient struct{ pool *pgxpool.Pool }

func openPostgres(addr string) (Client, error) {
	config, err := pgxpool.ParseConfig(server.PostgresURL(addr))
	if err != nil {
		return nil, err
	}
	config.MaxConns = postgresConns
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return postgresClient{pool}, err
}

// Lock makes a number of the name, since that is what PostgreSQL locks.
func (c postgresClient) Lock(name string) Lock {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return &postgresLock{pool: c.pool, key: int64(hash.Sum64())}
}

func (c postgresClient) Close() error {
	c.pool.Close()
	return nil
}

type postgresLock struct {
	pool *pgxpool.Pool
	key  int64
	conn *pgxpool.Conn
}

// Acquire does not let ctx end a wait in the server: that costs pgx the connection, while
// the server goes on waiting for a client that has left. When a window ends all who wait
// have the lock in turn instead, which takes them less than new connections would.
func (l *postgresLock) Acquire(ctx context.Context) (err error) {
	if l.conn, err = l.pool.Acquire(ctx); err != nil {
		return err
	}
	if _, err = l.conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_lock($1)", l.key); err != nil {
		l.conn.Release()
	}
	return err
}

func (l *postgresLock) Release(ctx context.Context) error {
	defer l.conn.Release()
	var held bool
	if err := l.conn.QueryRow(ctx, "select pg_advisory_unlock($1)", l.key).Scan(&held); err != nil {
		return err
	}
	if !held {
		return errors.New("the connection did not hold the lock")
	}
	return nil
}

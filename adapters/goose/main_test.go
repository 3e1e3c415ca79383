package redlatchgoose_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/redis/go-redis/v9"

	redlatchgoose "github.com/redlatch/redlatch/adapters/goose"
	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { nodes.Main(m, migrate) }

// migrate is a node: it migrates the database once.
func migrate(ctx context.Context, s nodes.Spec, client *reentrant.Client, job func()) error {
	db, err := open(s.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
	provider, err := newProvider(db, redlatchgoose.New(client.NewLock("migrations")), func(context.Context) { job() })
	if err != nil {
		return err
	}
	_, err = provider.Up(context.WithoutCancel(ctx)) // to its end, also if the test has seen enough
	return err
}

// open opens a database of the directory, one connection of it: SQLite has no lock that goose could take.
func open(dir string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(5000)")
}

// newProvider has two migrations, the second of which also calls work.
func newProvider(db *sql.DB, locker lock.Locker, work func(context.Context)) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithLocker(locker), goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(
			goose.NewGoMigration(1, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER)")
				return err
			}}, nil),
			goose.NewGoMigration(2, &goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error {
				work(ctx)
				return ctx.Err()
			}}, nil),
		))
}

const lease = 2 * time.Second

func newClient(t *testing.T, rdb redis.UniversalClient) *reentrant.Client {
	t.Helper()
	client, err := reentrant.New(rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			t.Errorf("a lock was left: %v", err)
		}
	})
	return client
}

// Three processes migrate: one does it, and the others find it done.
func TestProcesses(t *testing.T) {
	t.Parallel()
	nodes.Once(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Dir: t.TempDir(), Lease: lease})
}

// The process that migrates is killed: another one does it when the lease has ended.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	nodes.TakesOver(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Dir: t.TempDir(), Lease: lease})
}

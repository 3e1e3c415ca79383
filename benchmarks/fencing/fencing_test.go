package fencing

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

var databases = map[string]func(t *testing.T) *sql.DB{
	"SQLite": func(t *testing.T) *sql.DB { return open(t, "sqlite", filepath.Join(t.TempDir(), "shop.db")) },
	"PostgreSQL": func(t *testing.T) *sql.DB {
		s, err := server.StartOther(t.Context(), server.Kind{Program: server.Postgres, NoFsync: true})
		must(t, err)
		t.Cleanup(s.Stop)
		return open(t, "pgx", server.PostgresURL(s.Addr))
	},
}

func open(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSQL runs each statement of the document. A holder that has lost its lock writes late, after the next one.
func TestSQL(t *testing.T) {
	text, err := os.ReadFile("../../docs/fencing.md")
	must(t, err)
	var statements []string
	for _, block := range regexp.MustCompile("(?ms)^```sql\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		statements = append(statements, block[1])
	}
	for name, start := range databases {
		t.Run(name, func(t *testing.T) {
			db := start(t)
			_, err := db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, state TEXT NOT NULL)")
			must(t, err)
			_, err = db.Exec("INSERT INTO orders (id, state) VALUES (42, 'new')")
			must(t, err)
			writes := 0
			for _, s := range statements {
				if !strings.Contains(s, "$1") {
					_, err := db.Exec(s)
					must(t, err)
					continue
				}
				writes++
				lateWrite(t, db, s)
			}
			if writes != 3 {
				t.Errorf("the document has %d writes", writes)
			}
			var state string
			must(t, db.QueryRow("SELECT state FROM orders WHERE id = 42").Scan(&state))
			if state != "paid" {
				t.Errorf("the order is %s", state)
			}
		})
	}
}

// lateWrite has a first holder lose the lock, a second one write, and then the first one write.
func lateWrite(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	c, err := reentrant.New(redistest.Start(t).Client(t))
	must(t, err)
	lock := c.NewLock("order:42", reentrant.WithFencing())
	var row any = 42
	if strings.Contains(statement, "fences") {
		row = "order:42"
	}
	write := func(hold *reentrant.Hold) int64 {
		t.Helper()
		result, err := db.Exec(statement, hold.Token(), row)
		must(t, err)
		rows, err := result.RowsAffected()
		must(t, err)
		return rows
	}
	first, err := lock.Acquire(reentrant.WithOwner(t.Context(), "first"))
	must(t, err)
	if rows := write(first); rows != 1 {
		t.Errorf("%d rows, before the loss\n%s", rows, statement)
	}
	_, err = lock.ForceUnlock(t.Context()) // in place of a lease that has ended while the first holder stood still
	must(t, err)
	second, err := lock.Acquire(reentrant.WithOwner(t.Context(), "second"))
	must(t, err)
	for range 2 {
		if rows := write(second); rows != 1 {
			t.Errorf("%d rows for the holder\n%s", rows, statement)
		}
	}
	if rows := write(first); rows != 0 {
		t.Errorf("%d rows, late\n%s", rows, statement)
	}
	must(t, second.Release(t.Context()))
}

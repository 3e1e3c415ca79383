package lua_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

func wantOutcome(t *testing.T, err error, unknown, retryable bool) {
	t.Helper()
	for _, err := range []error{err, fmt.Errorf("acquire: %w", err)} {
		if lua.Unknown(err) != unknown || lua.Retryable(err) != retryable || lua.ForeignKey(err) {
			t.Errorf("%v: unknown %v, retryable %v, foreign %v; want %v, %v",
				err, lua.Unknown(err), lua.Retryable(err), lua.ForeignKey(err), unknown, retryable)
		}
	}
}

func TestOutcomeOfNoError(t *testing.T) {
	if lua.Unknown(nil) || lua.Retryable(nil) || lua.ForeignKey(nil) {
		t.Fatal("nil")
	}
}

// Errors as Go and go-redis make them.
func TestOutcomes(t *testing.T) {
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for _, c := range []struct {
		err                error
		unknown, retryable bool
	}{
		{io.EOF, true, true},
		{io.ErrUnexpectedEOF, true, true},
		{op("read", os.ErrDeadlineExceeded), true, true},
		{op("read", syscall.ECONNRESET), true, true},
		{op("write", os.ErrDeadlineExceeded), true, true}, // part of it may be gone
		{op("write", syscall.EPIPE), true, true},
		{net.ErrClosed, true, true},
		{context.DeadlineExceeded, true, true},
		{context.Canceled, true, true},
		{errors.New("who knows"), true, true},

		{op("dial", syscall.ECONNREFUSED), false, true},
		{op("dial", &net.DNSError{Name: "redis"}), false, true},
		{redis.ErrPoolTimeout, false, true},
		{redis.ErrPoolExhausted, false, true},
		{redis.ErrClosed, false, false},
		{redis.ErrNoScript, false, false},
		{redis.ErrCrossSlot, false, false},
		{redis.Nil, false, false},
		{lua.ErrAborted, true, true},
	} {
		wantOutcome(t, c.err, c.unknown, c.retryable)
	}
}

// Errors as Redis answers them, through go-redis, which has types for some.
func TestOutcomesOfAnswers(t *testing.T) {
	t.Parallel()
	m, rdb := redistest.Mini(t)
	rdb.Ping(t.Context()) // the handshake is not to meet the errors
	k := lua.KeysOf(name, "a")
	for answer, retryable := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                   true,
		"READONLY You can't write against a read only replica.":            true,
		"MASTERDOWN Link with MASTER is down":                              true,
		"CLUSTERDOWN The cluster is down":                                  true,
		"TRYAGAIN Multiple keys request during rehashing of slot":          true,
		"BUSY Redis is busy running a script.":                             true,
		"NOREPLICAS Not enough good replicas to write.":                    true,
		"MOVED 3999 127.0.0.1:6381":                                        true,
		"ASK 3999 127.0.0.1:6381":                                          true,
		"ERR max number of clients reached":                                true,
		"NOSCRIPT No matching script. Please use EVAL.":                    false,
		"OOM command not allowed when used memory > 'maxmemory'.":          false,
		"NOPERM this user has no permissions to run the 'evalsha' command": false,
		"NOAUTH Authentication required.":                                  false,
		"ERR unknown command 'evalsha'":                                    false,
		"MISCONF Redis is configured to save RDB snapshots":                false,
		// From inside a script, before Redis 7.
		"ERR Error running script (call to f_0): @user_script:9: READONLY You can't write":                                                  true,
		"ERR Error running script (call to f_0): @user_script:9: OOM command not allowed":                                                   false,
		"ERR Error running script (call to f_0): @user_script:9: @user_script: 9: -NOREPLICAS Not enough good replicas to write.":           true,
		"ERR Error running script (call to f_0): @user_script:9: @user_script: 9: -READONLY You can't write against a read only replica.":   true,
		"ERR Error running script (call to f_0): @user_script:9: @user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.": false,
	} {
		m.SetError(answer)
		_, err := lua.Inspect(t.Context(), rdb, &k, "o")
		if err == nil {
			t.Fatalf("%s: no error", answer)
		}
		wantOutcome(t, err, false, retryable)
	}
}

func TestOutcomeOfForeignKey(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "SET", name, "x")
	k := lua.KeysOf(name, "a")
	_, err := lua.Inspect(t.Context(), s.Client(t), &k, "o")
	if !lua.ForeignKey(err) || !lua.ForeignKey(fmt.Errorf("inspect: %w", err)) || lua.Unknown(err) || lua.Retryable(err) {
		t.Fatal(err)
	}
}

func inspect(ctx context.Context, rdb *redis.Client) error {
	k := lua.KeysOf(name, "a")
	_, err := lua.Inspect(ctx, rdb, &k, "o")
	return err
}

func TestOutcomeOfRefusedDial(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	rdb := redis.NewClient(&redis.Options{Addr: l.Addr().String(), DialerRetries: 1})
	defer rdb.Close()
	err = inspect(t.Context(), rdb)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatal(err)
	}
	wantOutcome(t, err, false, true)
}

func TestOutcomeOfPool(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Mini(t)
	rdb := redistest.MiniClient(t, m, func(o *redis.Options) {
		o.PoolSize, o.PoolTimeout = 1, time.Millisecond
	})
	conn := rdb.Conn()
	defer conn.Close()
	if err := conn.Ping(t.Context()).Err(); err != nil { // has the only connection
		t.Fatal(err)
	}
	err := inspect(t.Context(), rdb)
	if !errors.Is(err, redis.ErrPoolTimeout) {
		t.Fatal(err)
	}
	wantOutcome(t, err, false, true)
	other := redistest.MiniClient(t, m)
	other.Close()
	wantOutcome(t, inspect(t.Context(), other), false, false)
}

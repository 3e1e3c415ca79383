//go:build unix

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// findPostgres is the directory of the server's programs: those in PATH, or the newest
// of those that Debian keeps out of it.
func findPostgres() (string, error) {
	if bin, err := exec.LookPath("postgres"); err == nil {
		if bin, err = filepath.EvalSymlinks(bin); err == nil { // initdb looks beside itself
			return filepath.Dir(bin), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "", errors.New("there is no postgres in PATH or /usr/lib/postgresql")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(release(a), release(b)) })
	return filepath.Dir(newest), nil
}

// release is the number in /usr/lib/postgresql/15/bin/postgres.
func release(bin string) float64 {
	number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(bin))), 64)
	return number
}

// postgres makes a new database cluster and is the server for it. The server keeps its
// own limit of 100 connections.
func (o *Other) postgres() (*exec.Cmd, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := o.unprivileged()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(o.dir, "data")
	run := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = o.dir, &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	initdb := run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	if text, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, text)
	}
	_, port, _ := net.SplitHostPort(o.Addr)
	cmd := run("postgres", "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "port="+port, "-c", "unix_socket_directories=")
	if o.kind.NoFsync {
		cmd.Args = append(cmd.Args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	return cmd, nil
}

// unprivileged is the user that the server runs as, since it refuses to be root: the one
// that its package has made. The directory becomes that user's.
func (o *Other) unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(o.dir, uid, gid)
}

// PostgresURL is how a client connects to the server at an address.
func PostgresURL(addr string) string {
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
}

func (o *Other) postgresAnswers(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, PostgresURL(o.Addr))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}
	if data != filepath.Join(o.dir, "data") {
		return errors.New("another PostgreSQL is on the port")
	}
	return nil
}

const quitWithin = 5 * time.Second

// quitPostgres has the server end its own processes, one for each connection.
func (o *Other) quitPostgres() {
	if o.cmd.Process.Signal(syscall.SIGQUIT) != nil { // it has ended
		return
	}
	select {
	case <-o.process.Done():
	case <-time.After(quitWithin):
	}
}

// postgresVersion is the number in "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func postgresVersion() string {
	bin, err := findPostgres()
	if err != nil {
		return ""
	}
	text, _ := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	_, version, _ := strings.Cut(strings.TrimSpace(string(text)), "(PostgreSQL) ")
	version, _, _ = strings.Cut(version, " ")
	return version
}

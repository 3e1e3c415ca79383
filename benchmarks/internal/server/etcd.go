//go:build unix

package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcd is a cluster of one member, all else as it is by default.
func (o *Other) etcd() (*exec.Cmd, error) {
	peers, err := freeAddr()
	if err != nil {
		return nil, err
	}
	client, peer := "http://"+o.Addr, "http://"+peers
	cmd := exec.Command("etcd", "--name", o.member(), "--data-dir", filepath.Join(o.dir, "data"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", o.member()+"="+peer,
		"--logger", "zap", "--log-outputs", "stderr", "--log-level", "warn")
	if o.kind.NoFsync {
		cmd.Args = append(cmd.Args, "--unsafe-no-fsync")
	}
	// Without it release 3.4 starts on amd64 alone.
	cmd.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH="+runtime.GOARCH)
	return cmd, nil
}

// member is a name that no other etcd has.
func (o *Other) member() string { return filepath.Base(o.dir) }

// etcdAnswers is an error until the member has a leader: itself.
func (o *Other) etcdAnswers(ctx context.Context) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{o.Addr}, Context: ctx, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	if len(list.Members) != 1 || list.Members[0].Name != o.member() {
		return errors.New("another etcd is on the port")
	}
	_, err = client.Get(ctx, "any") // linearizable: it needs the leader
	return err
}

func etcdVersion() string {
	text, _ := exec.Command("etcd", "--version").Output()
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "etcd Version: ")
}

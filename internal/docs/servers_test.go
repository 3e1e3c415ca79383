package docs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/internal/redistest"
)

// password is that of the user "user" on the server behind TLS.
const password = "a password"

// servers stand in for those that the documents name.
type servers struct {
	standalone []string // redis-1 to redis-5, and localhost:6379
	nodes      []string // of a Cluster
	sentinels  []string // of a master called as in the documents
	behindTLS  string   // has the user "user"
	authority  string   // file with the certificate of who signed the server's
}

func startServers(t *testing.T) *servers {
	s := &servers{authority: filepath.Join(t.TempDir(), "authority.pem")}
	for range 5 {
		s.standalone = append(s.standalone, longRunning(t))
	}
	s.nodes = redistest.StartCluster(t, 3).Addrs
	s.sentinels = redistest.StartSentinel(t).Addrs
	s.behindTLS = s.serveTLS(t)
	return s
}

// longRunning starts a server that says it has been running for a day, as a quorum
// wants it.
func longRunning(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	info := "# Server\r\nrun_id:" + m.Addr() + "\r\nuptime_in_seconds:86400\r\n"
	m.Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			p.WriteBulk(info)
		}
		return cmd == "INFO"
	})
	return m.Addr()
}

// serveTLS starts a server with the user and a relay before it that speaks TLS. Its
// certificate is its own authority.
func (s *servers) serveTLS(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	m.RequireUserAuth("user", password)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(s.authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(conn, m.Addr()) })
		}
	})
	t.Cleanup(func() { // the clients are gone by now, so every relay ends
		_ = listener.Close()
		relays.Wait()
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "localhost:" + port
}

// relay passes on what is said on either side until one of them closes.
func relay(conn net.Conn, addr string) {
	defer conn.Close()
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer to.Close()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	})
	_, _ = io.Copy(conn, to)
	_ = conn.Close()
	up.Wait()
}

var address = regexp.MustCompile(`(localhost|redis-\d|redis\.example|sentinel-\d):(\d+)`)

// instead is the block's code with the addresses of the servers that stand in.
func (s *servers) instead(b block) string {
	return address.ReplaceAllStringFunc(b.code, func(named string) string {
		host, _, _ := strings.Cut(named, ":")
		switch {
		case host == "redis.example":
			return s.behindTLS
		case strings.HasPrefix(host, "sentinel-"):
			return s.sentinels[int(host[len(host)-1]-'1')%len(s.sentinels)]
		case host == "localhost":
			return s.standalone[0]
		case strings.Contains(b.code, "NewClusterClient"):
			return s.nodes[int(host[len(host)-1]-'1')%len(s.nodes)]
		default:
			return s.standalone[host[len(host)-1]-'1']
		}
	})
}

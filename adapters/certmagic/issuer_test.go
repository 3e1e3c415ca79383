package redlatchcertmagic_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	redlatchcertmagic "github.com/redlatch/redlatch/adapters/certmagic"
	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { nodes.Main(m, obtain) }

// issuer signs certificates itself, after work.
type issuer struct{ work func(context.Context) error }

func (i issuer) IssuerKey() string { return "test" }

func (i issuer) Issue(ctx context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if err := i.work(ctx); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "test"},
		DNSNames: request.DNSNames, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// config is certmagic with the files of a directory and the locks of client. end ends what certmagic does beside it.
func config(dir string, client *reentrant.Client, work func(context.Context) error) (cfg *certmagic.Config, end func()) {
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return cfg, nil },
		Logger:           zap.NewNop(),
	})
	cfg = certmagic.New(cache, certmagic.Config{
		Storage: redlatchcertmagic.New(&certmagic.FileStorage{Path: dir}, client),
		Issuers: []certmagic.Issuer{issuer{work}},
		Logger:  zap.NewNop(),
	})
	return cfg, cache.Stop
}

// obtain is a node: it obtains a certificate, or finds it obtained.
func obtain(ctx context.Context, s nodes.Spec, client *reentrant.Client, job func()) error {
	cfg, end := config(s.Dir, client, func(context.Context) error { job(); return nil })
	defer end()
	return cfg.ObtainCertSync(context.WithoutCancel(ctx), "shop.example.com") // to its end, also if the test has seen enough
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

// Three processes want a certificate: one obtains it, and the others find it.
func TestProcesses(t *testing.T) {
	t.Parallel()
	nodes.Once(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Dir: t.TempDir(), Lease: lease})
}

// The process that obtains it is killed: another one does when the lease has ended.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	nodes.TakesOver(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Dir: t.TempDir(), Lease: lease})
}

package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

// TLSName is what a server's certificate calls it.
const TLSName = "redis.test"

// Authority signs certificates for one test. Its key is nowhere but in memory.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority that nobody trusts who is not told to.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.cert, a.key = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign makes a certificate and its key; the first one is signed by itself.
func (a *Authority) sign(t testing.TB, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// Certificate makes one for a server that is called so, or for a client.
func (a *Authority) Certificate(t testing.TB, name string, usage x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	cert, key := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// Config is how a client connects that trusts the authority and nobody else, and has a
// certificate of it.
func (a *Authority) Config(t testing.TB) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		ServerName:   TLSName,
		RootCAs:      roots,
		Certificates: []tls.Certificate{a.Certificate(t, "client", x509.ExtKeyUsageClientAuth)},
	}
}

// WithTLS has a server speak TLS at a second address, to clients with a certificate of the
// authority. The first one is as ever, for the tests' own connection. The port of a bus is
// claimed as well, for "tls-cluster yes".
func (a *Authority) WithTLS(t testing.TB, lines ...string) (addr string, opt Option) {
	t.Helper()
	Needs(t, "6.0", "TLS")
	port, bus, err := loopback.ClaimPair(busOffset)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(port.Release)
	t.Cleanup(bus.Release)
	ca, cert, key := a.files(t, a.Certificate(t, TLSName, x509.ExtKeyUsageServerAuth))
	return port.Addr(), WithConfig(append([]string{
		fmt.Sprintf("tls-port %d", port.Number),
		"tls-auth-clients yes",
		fmt.Sprintf("tls-ca-cert-file %q", ca),
		fmt.Sprintf("tls-cert-file %q", cert),
		fmt.Sprintf("tls-key-file %q", key),
	}, lines...)...)
}

// ClientFiles are the files of a client: the authority's certificate, the client's, and its key.
func (a *Authority) ClientFiles(t testing.TB) (ca, cert, key string) {
	t.Helper()
	return a.files(t, a.Certificate(t, "client", x509.ExtKeyUsageClientAuth))
}

func (a *Authority) files(t testing.TB, of tls.Certificate) (ca, cert, key string) {
	t.Helper()
	secret, err := x509.MarshalECPrivateKey(of.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("ca.pem", "CERTIFICATE", a.cert.Raw), write("cert.pem", "CERTIFICATE", of.Certificate[0]), write("key.pem", "EC PRIVATE KEY", secret)
}

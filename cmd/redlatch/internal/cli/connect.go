package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/redlatch/redlatch/reentrant"
)

const defaultURL = "redis://localhost:6379"

// connection is what the common flags and the environment say of Redis.
type connection struct {
	urls         []string
	prefix       string
	cluster      bool
	sentinel     string // name of the master
	user         string
	passwordFile string
	ca           string
	cert, key    string
	serverName   string
	insecure     bool
	timeout      time.Duration
}

func (c *connection) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&c.urls, "url", nil, "address of Redis, redis://[user@]host:port/db or rediss://; REDIS_URL otherwise; several with run are a quorum")
	f.StringVar(&c.prefix, "prefix", os.Getenv("REDLATCH_PREFIX"), "prefix of all names, as the programs' WithPrefix; REDLATCH_PREFIX otherwise")
	f.BoolVar(&c.cluster, "cluster", false, "the address is of a node of a Cluster")
	f.StringVar(&c.sentinel, "sentinel", "", "the address is of a Sentinel, and this the `name` of the master")
	f.StringVar(&c.user, "user", "", "the Redis user")
	f.StringVar(&c.passwordFile, "password-file", "", "`file` with the password; REDIS_PASSWORD otherwise")
	f.StringVar(&c.ca, "tls-ca", "", "`file` with the certificates to trust")
	f.StringVar(&c.cert, "tls-cert", "", "`file` with the client's certificate")
	f.StringVar(&c.key, "tls-key", "", "`file` with its key")
	f.StringVar(&c.serverName, "tls-server-name", "", "the `name` in the server's certificate, if it is not the one in the address")
	f.BoolVar(&c.insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&c.timeout, "timeout", 5*time.Second, "limit for a command that asks Redis and does not wait for a lock")
}

// addresses are the URLs, of the flags or else of the environment.
func (c *connection) addresses() []string {
	switch env := os.Getenv("REDIS_URL"); {
	case len(c.urls) > 0:
		return c.urls
	case env != "":
		return strings.Fields(env)
	}
	return []string{defaultURL}
}

// shown are the addresses without passwords.
func (c *connection) shown() string {
	var all []string
	for _, address := range c.addresses() {
		if u, err := url.Parse(address); err == nil {
			address = u.Redacted()
		}
		all = append(all, address)
	}
	return strings.Join(all, ", ")
}

// one opens the only server there may be.
func (c *connection) one(opts ...reentrant.Option) (*redlatch, error) {
	if n := len(c.addresses()); n != 1 {
		return nil, usage("%d addresses: only run takes a lock on several", n)
	}
	all, err := c.open(opts...)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// redlatch is a Client and its connection.
type redlatch struct {
	*reentrant.Client
	rdb redis.UniversalClient
}

// open makes a Client for each address. It sends nothing.
func (c *connection) open(opts ...reentrant.Option) (all []*redlatch, err error) {
	password, err := c.password()
	if err != nil {
		return nil, err
	}
	secure, err := c.tls()
	if err != nil {
		return nil, err
	}
	for _, address := range c.addresses() {
		rdb, err := c.dial(address, password, secure)
		if err != nil {
			return nil, err
		}
		common := []reentrant.Option{reentrant.WithPrefix(c.prefix), reentrant.WithLogger(slog.New(slog.DiscardHandler))} // the program says it itself
		client, err := reentrant.New(rdb, append(common, opts...)...)
		if err != nil {
			return nil, usage("%w", err)
		}
		all = append(all, &redlatch{client, rdb})
	}
	return all, nil
}

func (c *connection) password() (string, error) {
	if c.passwordFile == "" {
		return os.Getenv("REDIS_PASSWORD"), nil
	}
	text, err := os.ReadFile(c.passwordFile)
	if err != nil {
		return "", usage("--password-file: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// tls is the TLS of the flags, or nil.
func (c *connection) tls() (*tls.Config, error) {
	if c.ca == "" && c.cert == "" && c.key == "" && c.serverName == "" && !c.insecure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.serverName, InsecureSkipVerify: c.insecure}
	if c.ca != "" {
		text, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, usage("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage("--tls-ca: %s has no certificate", c.ca)
		}
	}
	if c.cert != "" || c.key != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, usage("--tls-cert and --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (c *connection) dial(address, password string, secure *tls.Config) (redis.UniversalClient, error) {
	switch {
	case c.cluster && c.sentinel != "":
		return nil, usage("--cluster or --sentinel, and not both")
	case c.cluster:
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, badURL(err)
		}
		o.TLSConfig = merged(o.TLSConfig, secure)
		fill(&o.Username, c.user)
		fill(&o.Password, password)
		return redis.NewClusterClient(o), nil
	case c.sentinel != "":
		u, err := url.Parse(address)
		if err != nil {
			return nil, badURL(err)
		}
		q := u.Query()
		q.Set("master_name", c.sentinel)
		u.RawQuery = q.Encode()
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, badURL(err)
		}
		o.TLSConfig = merged(o.TLSConfig, secure)
		fill(&o.Username, c.user)
		fill(&o.Password, password)
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, badURL(err)
	}
	o.TLSConfig = merged(o.TLSConfig, secure)
	fill(&o.Username, c.user)
	fill(&o.Password, password)
	return redis.NewClient(o), nil
}

func badURL(err error) error { return usage("--url or REDIS_URL: %w", err) }

// merged is the TLS of a URL with what the flags say. Flags alone mean TLS too.
func merged(ofURL, flags *tls.Config) *tls.Config {
	if flags == nil || ofURL == nil {
		return cmp.Or(ofURL, flags)
	}
	flags = flags.Clone()
	fill(&flags.ServerName, cmp.Or(flags.ServerName, ofURL.ServerName))
	return flags
}

func fill(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// leave closes the Client and leaves its lock taken: Close waits for no hold with a ctx that has ended.
func (r *redlatch) leave() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Close(ctx) // which says that the hold was left
	_ = r.rdb.Close()
}

// close closes the Client and its connections, in a second at most.
func (r *redlatch) close() error {
	ctx, cancel := limited(time.Second)
	defer cancel()
	err := r.Close(ctx)
	if closing := r.rdb.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close: %w", closing)
	}
	return err
}

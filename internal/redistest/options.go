package redistest

import "fmt"

// Option changes how [Start] runs a server.
type Option func(*config)

type config struct {
	lines []string // of redis.conf, after the defaults, so that they win
	args  []string // of the command line, after the file
	env   []string // beside that of the test

	sentinel    bool // a Sentinel has no data and none of the settings for it
	clusterNode bool // has a second port, for the bus
}

// WithAOF keeps the data over a Kill and Restart. Every write is synced before
// it is answered: what a client was told is there afterwards.
func WithAOF() Option { return WithConfig("appendonly yes", "appendfsync always") }

// WithConfig adds lines to the configuration file.
//
// The tests' own admin connection has no password. For a server that asks for
// one, set it after the start, with [Server.Do] and ACL SETUSER.
func WithConfig(lines ...string) Option {
	return func(c *config) { c.lines = append(c.lines, lines...) }
}

// WithReplicaOf makes the server a replica of master.
func WithReplicaOf(master *Server) Option {
	return WithConfig(fmt.Sprintf("replicaof 127.0.0.1 %d", master.port.Number))
}

// WithArgs adds arguments to the command line of redis-server.
func WithArgs(args ...string) Option {
	return func(c *config) { c.args = append(c.args, args...) }
}

package faultproxy

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/memconn"
)

// Inside makes a proxy without a socket, in front of the server that dial connects to. Clients connect by
// [Proxy.Dial]. It is closed with the test, and works inside a bubble if it is made there.
func Inside(t testing.TB, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Proxy {
	t.Helper()
	p := newProxy(t, func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") })
	t.Cleanup(p.close)
	return p
}

// Dial connects to a proxy that [Inside] has made. It is the Dialer of a client's options. While the proxy refuses
// connections, and once it is closed, the error is ECONNREFUSED.
func (p *Proxy) Dial(context.Context, string, string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refusing {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := memconn.Pipe()
	p.wg.Go(func() { p.serve(server) })
	return client, nil
}

// DelayMessages passes published messages on after d, and what is behind them on their connections after them.
// 0, as at the start, ends that.
func (p *Proxy) DelayMessages(d time.Duration) { p.messagesLate.Store(int64(d)) }

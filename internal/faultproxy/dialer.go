package faultproxy

import (
	"context"
	"net"
)

// Dialer returns a dial function for a client's options that takes the way
// through the proxy wherever one of proxies stands before the address, and the
// direct way elsewhere. With it a cluster or Sentinel client, which learns
// addresses from the servers, is led through proxies as well.
func Dialer(proxies ...*Proxy) func(ctx context.Context, network, addr string) (net.Conn, error) {
	via := make(map[string]string, len(proxies))
	for _, p := range proxies {
		via[p.target] = p.Addr()
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, ok := via[addr]; ok {
			addr = to
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

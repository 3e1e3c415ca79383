//go:build unix

// Package pagecost measures what other clients of a Redis feel of an open page of package redlatchui: the time that their
// PINGs take, beside slices of time without a page.
//
// Run owns the server, the Clients and the page's HTTP server, and ends them. Each waiter is a goroutine of the scene, which
// waits for it; an open page has one more, which its close waits for.
package pagecost

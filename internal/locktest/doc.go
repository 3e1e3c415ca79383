// Package locktest has what the tests of locks share: Clients that are closed with the test, owners,
// calls that wait, the tenures of a lock that must not overlap, and what Redis says of a lock.
//
// It uses only what programs can use, too. Servers and clocks are in redistest, faults on the way
// to Redis in faultproxy.
package locktest

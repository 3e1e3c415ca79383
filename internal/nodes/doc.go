// Package nodes plays a job on three nodes, for the tests of the adapters: that a job of every second runs at most once a
// second, that a job to be done once is done once, and that a job goes on when the node that runs it is killed.
//
// A node is the test binary itself, started again: a process with a Client of its own, and a scheduler if there is one. The
// TestMain of an adapter calls Main, and says what a node does. A node tells the test each run as a line of JSON on its
// standard output. It ends with its standard input, when it is killed and, on Linux, when its parent dies.
package nodes

// Package pictures draws pictures of the documents: docs/lease.svg, docs/handoff.svg and docs/quorum.svg. What they show is
// recorded: real Clients on a Redis inside the process, in virtual time, so that each run records the same.
//
// The test compares the pictures with those in docs/. `make pictures` writes them.
package pictures

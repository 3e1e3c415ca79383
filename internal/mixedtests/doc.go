// Package mixedtests has the tests of two versions of Redlatch that share a lock, as they do while a new version is
// rolled out: the working tree's, and the last one in which a release only wakes the next waiter and grants it
// nothing (lua/grant.lua). The older one is taken out of the repository's own history.
//
// Each worker is a process of its own, a program that is built twice, once with each version.
package mixedtests

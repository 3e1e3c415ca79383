// Package redlatchcertmagic gives a storage of certmagic locks in Redis, so that one of several machines obtains a
// certificate while the others wait. It is for storages whose own locks are weak, as those of object stores are, and for
// files on a network.
package redlatchcertmagic
